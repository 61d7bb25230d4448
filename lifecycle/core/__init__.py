"""The pure half: values in, values out. No file, socket, clock, process or environment."""
