//! Any program as the endpoint.
