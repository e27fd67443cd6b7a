//! The model as a whole: ready experiments, the writing back, bad files, random files.

mod bad_files;
mod ready;
