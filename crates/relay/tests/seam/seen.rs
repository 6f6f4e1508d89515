//! What a run came across.

/// How often the situations occurred for which the seam is made: a simulation that has lost one of
/// them proves nothing about it.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) lagged: u64,
    pub(crate) ended: u64,
    pub(crate) replays: u64,
    pub(crate) parked: u64,
    pub(crate) replaced: u64,
    pub(crate) ahead: u64,
}

impl Seen {
    pub(crate) fn add(&mut self, other: &Self) {
        self.lagged += other.lagged;
        self.ended += other.ended;
        self.replays += other.replays;
        self.parked += other.parked;
        self.replaced += other.replaced;
        self.ahead += other.ahead;
    }

    pub(crate) fn assert_all_at_least(&self, runs: u64) {
        let Self { lagged, ended, replays, parked, replaced, ahead } = *self;
        let often = [lagged, replays, parked, replaced].into_iter().min();
        assert!(often >= Some(runs), "{self:?} in {runs} runs");
        let sometimes = ended.min(ahead);
        assert!(sometimes >= runs / 20, "{self:?} in {runs} runs");
    }
}
