"""What bench/check_originals.py compares: a module for each original, the statistics, and the reader of traces."""
