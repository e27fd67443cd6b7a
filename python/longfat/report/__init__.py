"""Results for people: a page (`page`), a terminal (`terminal`), a notebook (`notebook`)."""
