"""What the first screen of a report says: the path drawn, the answer in words, the runs to pick from."""
