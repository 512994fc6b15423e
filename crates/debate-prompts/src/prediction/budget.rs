//! Shares a token budget among blocks (P15).
//!
//! First every required block gets its least, then every block its floor, in order of rank; what is left goes to
//! blocks in order of their fill, evenly among equals. A block that is worth showing only with some tokens and
//! cannot have them is left out.

use super::blocks::Block;

/// The room is too small even for the least of the required blocks, which take so many tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooSmall(pub(super) u32);

/// Returns the tokens that the required blocks take at least.
pub(super) fn least(blocks: &[Block]) -> u32 {
    let required = blocks.iter().filter(|block| block.share.required);
    required.map(|block| block.frame_tokens() + block.body_tokens().min(block.share.least)).sum()
}

/// Returns how many tokens more the required blocks may take than their parts do, where the tokenizer joins them.
pub(super) fn seams(blocks: &[Block]) -> u32 {
    blocks.iter().filter(|block| block.share.required).map(|_| 2).sum()
}

/// Returns the tokens that the required blocks take with their floors, and those of the first rank.
pub(super) fn comfort(blocks: &[Block]) -> u32 {
    let required = blocks.iter().filter(|block| block.share.required || block.share.rank == 0);
    required
        .map(|block| block.frame_tokens() + block.body_tokens().min(block.share.least.max(block.share.floor)))
        .sum()
}

/// Shares `room` tokens: how many tokens of its body each block has, `None` where it is left out.
pub(super) fn share(blocks: &[Block], room: u32) -> Result<Vec<Option<u32>>, TooSmall> {
    let least = least(blocks);
    let Some(mut room) = room.checked_sub(least) else {
        return Err(TooSmall(least));
    };
    let mut shares: Vec<Option<u32>> = blocks
        .iter()
        .map(|block| block.share.required.then(|| block.body_tokens().min(block.share.least)))
        .collect();
    let mut order: Vec<usize> = (0..blocks.len()).collect();
    order.sort_by_key(|&place| blocks[place].share.rank);
    for place in order {
        let block = &blocks[place];
        if block.share.floor > 0 || block.share.bare {
            grant(block, &mut shares[place], block.body_tokens().min(block.share.floor), &mut room);
        }
    }
    let mut fills: Vec<u8> = blocks.iter().map(|block| block.share.fill).collect();
    fills.sort_unstable();
    fills.dedup();
    for fill in fills {
        let level: Vec<usize> = (0..blocks.len()).filter(|&place| blocks[place].share.fill == fill).collect();
        for &place in &level {
            let block = &blocks[place];
            grant(block, &mut shares[place], block.body_tokens().min(block.share.least), &mut room);
        }
        fill_evenly(blocks, &level, &mut shares, &mut room);
    }
    Ok(shares)
}

/// Brings a block up to `wanted` tokens if there is room for all of them.
fn grant(block: &Block, share: &mut Option<u32>, wanted: u32, room: &mut u32) {
    let (has, frame) = share.map_or((0, block.frame_tokens()), |has| (has, 0));
    let cost = frame + wanted.saturating_sub(has);
    if cost <= *room {
        *room -= cost;
        *share = Some(wanted.max(has));
    }
}

/// Raises the blocks of one level to the highest equal length that the room allows.
fn fill_evenly(blocks: &[Block], level: &[usize], shares: &mut [Option<u32>], room: &mut u32) {
    let is_member = |place: usize| {
        let block = &blocks[place];
        shares[place].is_some_and(|has| has >= block.body_tokens().min(block.share.least))
    };
    let members: Vec<usize> = level.iter().copied().filter(|&place| is_member(place)).collect();
    let cost = |length: u32, shares: &[Option<u32>]| -> u32 {
        let more = |&place: &usize| {
            blocks[place].body_tokens().min(length).saturating_sub(shares[place].unwrap_or_default())
        };
        members.iter().map(more).sum()
    };
    let longest = members.iter().map(|&place| blocks[place].body_tokens()).max().unwrap_or_default();
    let (mut fits, mut over) = (0, longest + 1);
    while over - fits > 1 {
        let length = fits + (over - fits) / 2;
        if cost(length, shares) <= *room { fits = length } else { over = length }
    }
    *room -= cost(fits, shares);
    for &place in &members {
        let has = shares[place].unwrap_or_default();
        shares[place] = Some(has.max(blocks[place].body_tokens().min(fits)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::blocks::{Share, Slot};
    use super::*;

    fn block(words: usize, share: Share) -> Block {
        Block::inline(Slot::Question, "q", &"word ".repeat(words), share).unwrap()
    }

    fn shared(blocks: &[Block], room: u32) -> Vec<Option<u32>> {
        let shares = share(blocks, room).unwrap();
        let used =
            blocks.iter().zip(&shares).filter_map(|(block, share)| Some(block.frame_tokens() + (*share)?));
        assert!(used.sum::<u32>() <= room);
        shares
    }

    #[test]
    fn p15_required_blocks_come_first_then_floors_then_the_rest_by_order() {
        let blocks = [
            block(50, Share::spare(3, 10)),
            block(50, Share::required(1, 10, 20)),
            block(50, Share::floored(2, 15)),
        ];
        let frame = blocks[0].frame_tokens();
        assert_eq!(shared(&blocks, frame + 10), [None, Some(10), None]);
        assert_eq!(shared(&blocks, frame + 20), [None, Some(20), None]);
        assert_eq!(shared(&blocks, 2 * frame + 35), [None, Some(20), Some(15)]);
        assert_eq!(shared(&blocks, 2 * frame + 65), [None, Some(50), Some(15)]);
        assert_eq!(shared(&blocks, 3 * frame + 112), [Some(12), Some(50), Some(50)]);
        assert_eq!(share(&blocks, frame + 9), Err(TooSmall(frame + 10)));
    }

    #[test]
    fn p15_equals_share_evenly_and_the_short_ones_are_whole() {
        let blocks = [
            block(90, Share::floored(1, 5)),
            block(10, Share::floored(1, 5)),
            block(80, Share::floored(1, 5)),
        ];
        let frame = blocks[0].frame_tokens();
        assert_eq!(shared(&blocks, 3 * frame + 70), [Some(30), Some(10), Some(30)]);
    }

    #[test]
    fn p15_equals_that_are_too_many_are_left_out_from_the_end() {
        let blocks: Vec<Block> = (0..9).map(|_| block(40, Share::floored(1, 12))).collect();
        let frame = blocks[0].frame_tokens();
        let shares = shared(&blocks, 4 * (frame + 12) + frame);
        assert_eq!(shares.iter().flatten().count(), 4);
        assert!(shares[4..].iter().all(Option::is_none));
    }

    #[test]
    fn p15_a_bare_block_is_shown_without_its_body() {
        let bare = Share { bare: true, ..Share::spare(9, 12) };
        let blocks = [block(40, bare), block(40, Share::floored(1, 40))];
        let frame = blocks[0].frame_tokens();
        assert_eq!(shared(&blocks, 2 * frame + 45), [Some(0), Some(40)]);
        assert_eq!(shared(&blocks, 2 * frame + 60), [Some(20), Some(40)]);
    }
}
