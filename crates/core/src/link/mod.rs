//! Links: rate, framing, impairments.
