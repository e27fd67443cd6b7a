//! The bytes of packets on their way, each in a place of its own.

use std::collections::BTreeMap;

/// Places for packets up to one size. A place is used again; so memory is that of the most packets at once.
pub struct Frames {
    bytes: Vec<Box<[u8]>>,
    lens: Vec<u32>,
    free: Vec<u32>,
    /// Number of packets beyond one that share the bytes of a place.
    shared: BTreeMap<u32, u32>,
    size: usize,
}

/// Places made at once.
const CHUNK: usize = 256;

impl Frames {
    /// Returns frames for packets of up to `size` bytes.
    pub fn new(size: usize) -> Self {
        Frames { bytes: Vec::new(), lens: Vec::new(), free: Vec::new(), shared: BTreeMap::new(), size }
    }

    /// Makes room for `packets` packets, so that none need be made while time runs.
    pub fn reserve(&mut self, packets: usize) {
        while self.bytes.len() * CHUNK < packets {
            self.grow();
        }
    }

    fn grow(&mut self) {
        let first = self.lens.len() as u32;
        // Written, so that the kernel has given its memory before it is needed.
        let mut chunk = Vec::with_capacity(CHUNK * self.size);
        chunk.resize(CHUNK * self.size, 1);
        self.bytes.push(chunk.into_boxed_slice());
        self.lens.resize(self.lens.len() + CHUNK, 0);
        self.free.extend((first..first + CHUNK as u32).rev());
    }

    fn whole(&mut self, place: u32) -> &mut [u8] {
        let (chunk, at) = (place as usize / CHUNK, place as usize % CHUNK * self.size);
        &mut self.bytes[chunk][at..at + self.size]
    }

    /// A place, and all of its bytes, to be filled; then say [`Frames::filled`] or [`Frames::free`].
    pub fn vacant(&mut self) -> (u32, &mut [u8]) {
        if self.free.is_empty() {
            self.grow();
        }
        let place = self.free.pop().expect("there is room");
        (place, self.whole(place))
    }

    /// Sets the length of `place`, of which `len` bytes were filled.
    pub fn filled(&mut self, place: u32, len: usize) {
        self.lens[place as usize] = len as u32;
    }

    /// The packet in a place.
    pub fn get(&self, place: u32) -> &[u8] {
        let (chunk, at) = (place as usize / CHUNK, place as usize % CHUNK * self.size);
        &self.bytes[chunk][at..at + self.lens[place as usize] as usize]
    }

    /// Returns the bytes in `place`, to be changed.
    pub fn get_mut(&mut self, place: u32) -> &mut [u8] {
        let len = self.lens[place as usize] as usize;
        &mut self.whole(place)[..len]
    }

    /// Adds a packet with these bytes, since a link carried it twice.
    pub fn share(&mut self, place: u32) {
        *self.shared.entry(place).or_default() += 1;
    }

    /// A packet has no use for the place any more; the last one frees it.
    pub fn free(&mut self, place: u32) {
        match self.shared.get_mut(&place) {
            Some(1) => drop(self.shared.remove(&place)),
            Some(more) => *more -= 1,
            None => self.free.push(place),
        }
    }

    /// Places there are: the most packets at once, and up to a chunk more.
    pub fn made(&self) -> u64 {
        self.lens.len() as u64
    }

    #[cfg(test)]
    fn kept(&self) -> usize {
        self.lens.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_keeps_its_bytes_and_is_used_again() {
        let mut frames = Frames::new(100);
        let places: Vec<u32> = (0..CHUNK as u32 + 1)
            .map(|i| {
                let (place, bytes) = frames.vacant();
                bytes[..4].copy_from_slice(&i.to_be_bytes());
                frames.filled(place, 4);
                place
            })
            .collect();
        assert!(places.iter().enumerate().all(|(i, place)| frames.get(*place) == (i as u32).to_be_bytes()));
        assert_eq!((frames.kept(), frames.made()), (CHUNK + 1, 2 * CHUNK as u64));
        frames.share(places[0]);
        frames.free(places[0]);
        assert_eq!(frames.kept(), CHUNK + 1, "the copy is still there");
        places.iter().for_each(|place| frames.free(*place));
        frames.reserve(2 * CHUNK);
        assert_eq!((frames.kept(), frames.made()), (0, 2 * CHUNK as u64));
    }
}
