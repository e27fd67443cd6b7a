"""Attacks on longfat: whatever is done to it, its results are right, or it says in one message what is wrong.

    make torture TIME=600            # all attacks in turn, for ten minutes; prints the seed of each case that fails
    make torture SEED=7              # the same cases again
    make torture ONLY=corruption:7   # one case

An attack is a function of a generator of random numbers and an empty folder, which raises what is wrong. Each case has a seed of its own.
Cases run in processes of their own, a few to a process, so that one that ends its process is found, too.
"""
