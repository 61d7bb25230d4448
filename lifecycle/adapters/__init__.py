"""Everything that touches the world: ledger, spool, ansible-runner, inventory, lock, clock."""
