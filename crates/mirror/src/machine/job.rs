//! What a catch-up is made of: windows of one filter, to be compared one by one.

use zeolite_proto::{EventId, Filter};

use super::context::{Context, Scope};
use super::download::Download;
use super::sink::Origin;
use super::upload::Upload;
use super::window::Window;

/// One window of one filter.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) scope: Scope,
    pub(super) window: Window,
    /// Rounds in a row that found differences although nothing was moved since.
    pub(super) rounds: u32,
    /// What had been moved when the latest round began.
    pub(super) moved: u64,
}

impl Job {
    pub(super) fn new(scope: Scope, window: Window) -> Self {
        Self { scope, window, rounds: 0, moved: 0 }
    }

    /// The filter of what lies in it.
    pub(super) fn filter(&self, context: &Context) -> Filter {
        self.window.within(context.filter(self.scope))
    }
}

/// The two roads on which differences are made up.
#[derive(Debug)]
pub(super) struct Roads {
    pub(super) download: Download,
    pub(super) upload: Upload,
}

impl Roads {
    pub(super) fn new(context: &Context) -> Self {
        Self { download: Download::new(context), upload: Upload::new(context) }
    }

    /// Whether everything that the catch-up found was moved and answered.
    pub(super) fn are_idle(&self, context: &Context) -> bool {
        self.download.is_idle() && self.upload.is_idle() && context.sink.catch_up_events() == 0
    }

    /// Whether there is room for what another frame or page may find.
    pub(super) fn have_room(&self, context: &Context) -> bool {
        let limits = &context.settings.limits;
        self.download.waiting() <= limits.need_ids_max / 2
            && self.upload.waiting() <= limits.have_ids_max / 2
    }

    /// Asks and sends as far as there is room.
    pub(super) fn pump(&mut self, context: &mut Context) {
        self.download.pump(context);
        self.upload.pump(context);
    }

    /// Forgets everything that the connection knew.
    pub(super) fn reset(&mut self, context: &mut Context) {
        self.download.reset(context);
        self.upload.reset(context);
        context.asked = 0;
    }

    /// Sends differences on their way. Returns what of them nothing explains.
    pub(super) fn take(
        &mut self,
        scope: Scope,
        have: &[EventId],
        need: &[EventId],
        context: &mut Context,
    ) -> Differences {
        let direction = context.settings.direction;
        let mut found = Differences::default();
        if direction.is_down() {
            need.iter().for_each(|id| self.take_need(id, scope, &mut found, context));
        }
        if direction.is_up() && scope == Scope::Content {
            have.iter().for_each(|id| self.take_have(id, &mut found, context));
        }
        found
    }

    fn take_need(
        &mut self,
        id: &EventId,
        scope: Scope,
        found: &mut Differences,
        context: &mut Context,
    ) {
        if context.refused_here.contains(id) || context.gone.contains(id) {
            return;
        }
        found.any = true;
        if context.settings.dry_run {
            context.gone.insert(id, 0);
            context.progress.counts.need += 1;
        } else if !context.sink.claim(id, Origin::Wanted) {
            let waiting = self.download.waiting();
            found.too_many |= !self.download.want(*id, scope, context);
            context.progress.counts.need += (self.download.waiting() - waiting) as u64;
        }
    }

    fn take_have(&mut self, id: &EventId, found: &mut Differences, context: &mut Context) {
        if self.upload.is_explained(id, context) {
            return;
        }
        found.any = true;
        if context.crossed.contains(id) {
            // The next comparison will tell whether the upstream lacks it.
        } else if context.settings.dry_run {
            context.refused_there.insert(id, 0);
            context.progress.counts.have += 1;
        } else {
            let waiting = self.upload.waiting();
            found.too_many |= !self.upload.want(*id, context);
            context.progress.counts.have += (self.upload.waiting() - waiting) as u64;
        }
    }

    /// Whether differences hold anything that nothing explains.
    pub(super) fn differ(
        &self,
        have: &[EventId],
        need: &[EventId],
        scope: Scope,
        context: &Context,
    ) -> bool {
        let direction = context.settings.direction;
        let is_needed = |id| !context.refused_here.contains(id) && !context.gone.contains(id);
        let is_missed = |id| !self.upload.is_explained(id, context);
        (direction.is_down() && need.iter().any(is_needed))
            || (direction.is_down() && scope == Scope::Content && !have.is_empty())
            || (direction.is_up() && have.iter().any(is_missed))
    }
}

/// What nothing explains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Differences {
    /// There is something.
    pub(super) any: bool,
    /// There was no room for all of it.
    pub(super) too_many: bool,
}
