//! [`Kept`]: the places that wait to be shown, as many as there is room for.
//!
//! Invariant: which ones are kept depends on the places alone, not on who comes first. They are the first ones in the
//! order in which they are shown, up to the one for which there is no room.

use super::place::Place;
use std::collections::BinaryHeap;

/// What all of them may take. Whoever has more to show wants a format that keeps none.
const ROOM_BYTES: usize = 96 << 20;

/// What a place takes besides its texts: itself, its share of its secret's group, and what memory is handed out in.
const PLACE_BYTES: usize = size_of::<Place>() + 160;

/// Places, not more than there is room for.
#[derive(Debug)]
pub(crate) struct Kept {
    /// The last one first.
    places: BinaryHeap<Place>,
    /// What they take, and what they may take.
    taken: usize,
    room: usize,
    /// The first for which there was no room: nothing from it on is kept.
    end: Option<Place>,
    left_out: u64,
}

impl Default for Kept {
    fn default() -> Self {
        Self::with_room(ROOM_BYTES)
    }
}

impl Kept {
    fn with_room(room: usize) -> Self {
        Self { places: BinaryHeap::new(), taken: 0, room, end: None, left_out: 0 }
    }

    /// Keeps a place, if there is room for it, or for it before others.
    pub(crate) fn push(&mut self, place: Place) {
        if self.end.as_ref().is_some_and(|end| place >= *end) {
            self.left_out += 1;
            return;
        }
        self.taken += bytes_of(&place);
        self.places.push(place);
        while self.taken > self.room
            && let Some(last) = self.places.pop()
        {
            self.taken -= bytes_of(&last);
            self.left_out += 1;
            self.end = Some(last);
        }
    }

    /// The places in the order in which they are shown, and how many there was no room for.
    pub(crate) fn into_sorted(self) -> (Vec<Place>, u64) {
        (self.places.into_sorted_vec(), self.left_out)
    }
}

fn bytes_of(place: &Place) -> usize {
    PLACE_BYTES + place.secret.len() + place.excerpt.len()
}

#[cfg(test)]
mod tests {
    use super::super::place::tests::place;
    use super::*;
    use heist_scan::Confidence;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_kept_does_not_depend_on_the_order(
            (excerpts, shuffled) in prop::collection::vec(0..2_000_usize, 0..30).prop_flat_map(|excerpts| {
                let order: Vec<usize> = (0..excerpts.len()).collect();
                (Just(excerpts), Just(order).prop_shuffle())
            }),
            room in 0..20_000_usize,
        ) {
            let at = |line: usize| Place {
                excerpt: vec![b'x'; excerpts[line]].into(),
                ..place("path", line as u64, "secret", Confidence::High)
            };
            let mut kept = Kept::with_room(room);
            shuffled.iter().for_each(|&line| kept.push(at(line)));
            let (places, left_out) = kept.into_sorted();
            let mut taken = 0;
            let fitting = (0..excerpts.len()).take_while(|&line| {
                taken += bytes_of(&at(line));
                taken <= room
            });
            let expected: Vec<Place> = fitting.map(at).collect();
            prop_assert_eq!(left_out as usize, excerpts.len() - expected.len());
            prop_assert_eq!(places, expected);
        }
    }
}
