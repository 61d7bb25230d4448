"""The shell: the only place where reading, deciding and writing meet."""
