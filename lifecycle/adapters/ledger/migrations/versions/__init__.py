"""One file per format of the ledger, oldest first by number."""
