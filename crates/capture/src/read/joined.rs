//! Several files of one transfer, read as one: the next packet is the earliest of all.

use super::file::Input;
use super::frame::Packet;
use crate::error::Error;
use std::fs::File;
use std::path::Path;

/// Files that are read together.
pub struct Joined {
    /// Inputs that are joined.
    pub inputs: Vec<Input>,
    heads: Vec<Option<Packet>>,
    size: u64,
}

impl Joined {
    /// Opens the files at `paths`. An error if one is none that can be read.
    pub fn open(paths: &[impl AsRef<Path>]) -> Result<Joined, Error> {
        let mut inputs = Vec::with_capacity(paths.len());
        let mut size = 0;
        for path in paths {
            let (path, name) = (path.as_ref(), path.as_ref().display().to_string());
            let wrong = |e: std::io::Error| Error::File { name: name.clone(), what: e.to_string() };
            let file = File::open(path).map_err(wrong)?;
            let meta = file.metadata().map_err(wrong)?;
            if meta.is_dir() {
                return Err(Error::File { name, what: "it is a folder: name the captures in it".to_owned() });
            }
            size += meta.len();
            inputs.push(Input::new(&name, file)?);
        }
        Ok(Joined::of(inputs, size))
    }

    /// Joins open inputs; `size` is the sum of their sizes, in bytes.
    pub fn of(mut inputs: Vec<Input>, size: u64) -> Joined {
        let heads = inputs.iter_mut().map(Input::next_packet).collect();
        Joined { inputs, heads, size }
    }

    /// Returns the share that has been read.
    pub fn progress(&self) -> f64 {
        let read: u64 = self.inputs.iter().map(Input::position).sum();
        if self.size == 0 { 1.0 } else { (read as f64 / self.size as f64).min(1.0) }
    }

    /// The next packet of all files, by time; of one time, of the file that was named first.
    pub fn next_packet(&mut self) -> Option<Packet> {
        let first = match self.heads.len() {
            1 => 0,
            _ => (0..self.heads.len()).filter(|i| self.heads[*i].is_some()).min_by_key(|i| self.heads[*i].map(|packet| packet.time))?,
        };
        let packet = self.heads[first].take()?;
        self.heads[first] = self.inputs[first].next_packet();
        Some(packet)
    }
}
