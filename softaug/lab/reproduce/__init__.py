"""All runs that tables and figures of the paper need: planned, done anywhere, collected."""
