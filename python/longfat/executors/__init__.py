"""Sweeps on many processes and machines, by what is there already: executors of Python, Dask, batch systems."""
