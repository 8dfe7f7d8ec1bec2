//! From a repository to findings: reads the refs and commits, has the objects scanned, finds their
//! places, and settles which version of each secret is reported.

use super::collect::{Collected, Collector, Kept, Room};
use super::read::{self, SweepOptions, Swept, SweptCommits};
use super::report::HistoryReport;
use super::settle::{Chosen, Settling};
use super::{Excludes, HistoryError, HistoryScan};
use crate::bytes::to_path;
use crate::history::attribution::{Attribution, BlobPlace};
use crate::history::graph::{CommitFacts, CommitNumber, CommitWalk, read_commit};
use crate::history::introduced::IntroducedGaps;
use crate::history::reduced::BlobSet;
use crate::history::refs_of::ContainingRefs;
use crate::history::tips::Tips;
use crate::id::ObjectId;
use crate::repo::layout::Layout;
use crate::repo::refs::Refs;
use crate::store::{ObjectReader, ObjectStore};
use heist::MetricsSnapshot;
use heist_scan::{BlobScanner, CommitInfo, Detector, HistoryFate, HistoryPlace, HistoryText, Sink};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The longest texts of a commit that are kept.
const TEXT_BYTES_MAX: usize = 512;

/// What rules see as the path of a message.
const MESSAGE_PATH: &str = "COMMIT_EDITMSG";

/// Scans the history of a repository.
pub(super) fn run<D: Detector>(
    history: HistoryScan<D>,
    layout: &Layout,
    sink: Arc<dyn Sink>,
) -> Result<HistoryReport, HistoryError> {
    let HistoryScan { scan, shown_as, access, limits, attribution, revisions, .. } = history;
    let store = Arc::new(match &history.objects {
        Some(objects) => ObjectStore::open_objects(objects, layout.hash_kind(), &access, limits)?,
        None => ObjectStore::open(layout, &access, limits)?,
    });
    let refs = Refs::read(layout, &access);
    let settling = Arc::new(Settling::new(sink));
    let blob_scan = Arc::new(scan.blobs(Arc::clone(&settling), &history.cancel));
    let is_stopped = || blob_scan.is_stopped();
    let room = Arc::new(Room::new(history.kept_bytes));
    let mut collector = Collector::new(&blob_scan, &room, &history.progress);

    let is_everything = revisions.is_everything();
    let mut swept = Swept::default();
    if is_everything {
        let options = SweepOptions { threads: history.threads, verify_delta: history.verify_delta };
        let (scan, progress) = (&blob_scan, &history.progress);
        swept = read::everything(&store, scan, &room, progress, &options)?;
    }
    let mut reader = store.reader();
    let mut tags = Vec::new();
    let (mut tips, problems) =
        Tips::read(layout, &access, &refs, &mut reader, |tag, _| tags.push(tag.clone()));
    revisions.include_ids.iter().for_each(|id| tips.add_commit(*id));
    let is_shallow = !tips.shallow.is_empty();
    let mut content = Vec::new();
    let hash = store.hash_kind();
    let walk = CommitWalk::read_with(tips, hash, |id, parents| {
        history.progress.add_commit();
        if let Some(facts) = swept.commits.look_up(id, parents) {
            return Ok(facts);
        }
        let commit = read_commit(id, hash, &mut reader, &mut content)?;
        parents.extend(commit.parents());
        Ok(CommitFacts::of(&commit))
    });
    swept.commits = SweptCommits::default();
    let commits = revisions.resolve(&walk)?;
    let mut gaps = IntroducedGaps::default();
    if !is_everything {
        for &number in &commits {
            let id = walk.id(number);
            if let Ok(commit) = read_commit(&id, store.hash_kind(), &mut reader, &mut content) {
                collector.message(id, commit.message);
            }
        }
        gaps = read::introduced(&walk, &commits, &mut reader, &mut collector, &is_stopped);
    }
    collector.publish_all();
    let Collector { mut scanner, mut collected, .. } = collector;
    collected.add(std::mem::take(&mut swept.collected));

    let blobs = BlobSet::new(collected.blobs.iter().map(|kept| kept.id));
    let found = Attribution::find_in(&walk, &commits, &blobs, &mut reader, attribution, is_stopped);
    let mut placer = Placer {
        walk: &walk,
        reader: &mut reader,
        scanner: &mut scanner,
        settling: &settling,
        repository: shown_as.as_path().into(),
        excludes: history.excludes,
        excluded: 0,
        infos: HashMap::new(),
    };
    placer.report_blobs(&collected.blobs, &found);
    let mut unreachable = placer.report_unplaced(&collected.blobs, &found, history.unreachable);
    unreachable += placer.report_messages(&collected.messages, &tags, history.unreachable);
    let excluded = placer.excluded;
    drop(scanner);

    let Collected { counts, messages_scanned, bytes, over_memory, differences, .. } = collected;
    let (findings, findings_left_out) = settling.totals();
    let mut unreadable = walk.unreadable().clone();
    read::add_unreadable(&mut unreadable, &gaps.unreadable);
    read::add_unreadable(&mut unreadable, &found.unreadable);
    read::add_unreadable(&mut unreadable, &swept.unreadable);
    // All other owners have ended.
    let stopped = Arc::try_unwrap(blob_scan).ok().and_then(|scan| {
        let threads = swept.threads;
        scan.finish(threads, MetricsSnapshot::default()).stopped
    });
    let mut all_problems = if is_everything { swept.problems } else { store.problems().to_vec() };
    all_problems.extend(problems);
    Ok(HistoryReport {
        commits: walk.len() as u64,
        commits_scanned: commits.len() as u64,
        refs: refs.refs.len() as u64,
        blobs: counts,
        messages: messages_scanned,
        bytes,
        unreadable,
        findings,
        findings_left_out,
        unreachable,
        over_memory,
        places_left_out: found.places_left_out,
        excluded,
        attribution_is_cut: found.is_cut && stopped.is_none(),
        is_shallow,
        is_partial: store.is_partial(),
        differences,
        problems: all_problems,
        stopped,
        not_looked_at: swept.cut,
        threads: swept.threads.max(1),
    })
}

/// Reports kept objects at their places.
struct Placer<'a, 's, D: Detector> {
    walk: &'a CommitWalk,
    reader: &'a mut ObjectReader<'s>,
    scanner: &'a mut BlobScanner<D>,
    settling: &'a Settling,
    repository: Arc<Path>,
    excludes: Option<Excludes>,
    excluded: u64,
    infos: HashMap<CommitNumber, Arc<CommitInfo>>,
}

impl<D: Detector> Placer<'_, '_, D> {
    /// Reports the objects whose places are known.
    fn report_blobs(&mut self, blobs: &[Kept], found: &Attribution) {
        let mut is_excluded = vec![false; found.places.len()];
        for (number, place) in found.places.iter().enumerate() {
            let path = to_path(&place.path);
            is_excluded[number] = self.excludes.as_ref().is_some_and(|excludes| excludes(&path));
            if is_excluded[number] {
                self.excluded += 1;
                continue;
            }
            self.settling.set_place(number, Some(Arc::clone(&place.path)), None);
            let blob = &blobs[place.blob as usize].scanned;
            self.scanner.report(blob, &path, &path);
        }
        let chosen = self.settling.chosen();
        let firsts: BTreeSet<CommitNumber> =
            chosen.iter().filter_map(|chosen| found.places[chosen.place].first).collect();
        let firsts: Vec<CommitNumber> = firsts.into_iter().collect();
        let refs = self.walk.refs_containing(&firsts);
        for chosen in &chosen {
            let place = &found.places[chosen.place];
            let fate = self.fate(chosen, &found.places);
            let refs =
                place.first.and_then(|first| Some(&refs[firsts.binary_search(&first).ok()?]));
            let kept = &blobs[place.blob as usize];
            let history = self.history(kept.id, place, fate, refs);
            let shown = shown_path(&self.repository, &place.path);
            let path = Some(Arc::clone(&place.path));
            self.settling.set_place(chosen.place, path, Some(Arc::new(history)));
            self.scanner.report(&kept.scanned, &shown, &to_path(&place.path));
        }
    }

    /// Returns what became of a secret: of all its versions at the path, the last removal counts.
    fn fate(&mut self, chosen: &Chosen, places: &[BlobPlace]) -> HistoryFate {
        let versions = || chosen.places.iter().map(|&place| &places[place as usize]);
        if versions().any(|place| place.in_head) {
            return HistoryFate::InHead;
        }
        let is_version = |blob: u32| versions().any(|place| place.blob == blob);
        let removals = versions().flat_map(|place| &place.removals);
        let last = removals
            .filter(|(_, replaced_by)| !replaced_by.is_some_and(is_version))
            .map(|(commit, _)| *commit)
            .max();
        match last.and_then(|commit| self.info(commit)) {
            Some(info) => HistoryFate::Removed(info),
            None => HistoryFate::NotInHead,
        }
    }

    fn history(
        &mut self,
        id: ObjectId,
        place: &BlobPlace,
        fate: HistoryFate,
        refs: Option<&ContainingRefs>,
    ) -> HistoryPlace {
        let repository = Arc::clone(&self.repository);
        let mut history = HistoryPlace::new(repository, HistoryText::File, id.to_string());
        history.path = Arc::clone(&place.path);
        history.introduced = place.first.and_then(|first| self.info(first));
        history.may_be_older = place.first.is_some_and(|first| self.walk.is_boundary(first));
        history.fate = fate;
        set_refs(&mut history, refs);
        history
    }

    /// Reports the objects without a place, or counts those that no ref reaches.
    fn report_unplaced(&mut self, blobs: &[Kept], found: &Attribution, unreachable: bool) -> u64 {
        let mut has_place = vec![false; blobs.len()];
        for place in &found.places {
            has_place[place.blob as usize] = true;
        }
        let without = (0..).zip(blobs).filter(|(number, _)| !has_place[*number]);
        if found.is_complete() && self.walk.unreadable().is_empty() && !unreachable {
            return without.count() as u64;
        }
        for (_, kept) in without {
            let repository = Arc::clone(&self.repository);
            let id = kept.id.to_string();
            let path = format!("(object {id})");
            let mut history = HistoryPlace::new(repository, HistoryText::File, id);
            if found.is_complete() {
                history.fate = HistoryFate::Unreachable;
            }
            self.settling.set_place(0, None, Some(Arc::new(history)));
            let shown = shown_path(&self.repository, path.as_bytes());
            self.scanner.report(&kept.scanned, &shown, Path::new(""));
        }
        0
    }

    /// Reports messages of commits and tags, the oldest commit first.
    fn report_messages(
        &mut self,
        messages: &[Kept],
        tags: &[crate::history::TagObject],
        unreachable: bool,
    ) -> u64 {
        let mut left_out = 0;
        let mut of_commits: Vec<(CommitNumber, &Kept)> =
            messages.iter().filter_map(|kept| Some((self.walk.number(&kept.id)?, kept))).collect();
        of_commits.sort_unstable_by_key(|(number, _)| *number);
        let numbers: Vec<CommitNumber> = of_commits.iter().map(|(number, _)| *number).collect();
        let refs = self.walk.refs_containing(&numbers);
        for ((number, kept), refs) in of_commits.iter().zip(&refs) {
            let id = kept.id.to_string();
            let repository = Arc::clone(&self.repository);
            let mut history = HistoryPlace::new(repository, HistoryText::CommitMessage, id);
            history.introduced = self.info(*number);
            // A message stays as long as its commit.
            history.fate = HistoryFate::InHead;
            set_refs(&mut history, Some(refs));
            self.report_message(kept, b"(commit message)", history);
        }
        for kept in messages.iter().filter(|kept| self.walk.number(&kept.id).is_none()) {
            let tag = tags.iter().find(|tag| tag.id == kept.id);
            if tag.is_none() && !unreachable {
                left_out += 1;
                continue;
            }
            let repository = Arc::clone(&self.repository);
            let text = match tag {
                Some(_) => HistoryText::TagMessage,
                None => HistoryText::CommitMessage,
            };
            let mut history = HistoryPlace::new(repository, text, kept.id.to_string());
            history.fate = HistoryFate::Unreachable;
            let mut path = b"(commit message)".to_vec();
            if let Some(tag) = tag {
                history.fate = HistoryFate::InHead;
                history.refs = vec![text_of(&tag.name)];
                history.ref_count = Some(1);
                path = b"(message of a tag)".to_vec();
            }
            self.report_message(kept, &path, history);
        }
        left_out
    }

    fn report_message(&mut self, kept: &Kept, path: &[u8], history: HistoryPlace) {
        self.settling.set_place(0, None, Some(Arc::new(history)));
        let shown = shown_path(&self.repository, path);
        self.scanner.report(&kept.scanned, &shown, Path::new(MESSAGE_PATH));
    }

    /// Reads what findings show of a commit.
    fn info(&mut self, number: CommitNumber) -> Option<Arc<CommitInfo>> {
        if let Some(known) = self.infos.get(&number) {
            return Some(Arc::clone(known));
        }
        let id = self.walk.id(number);
        let mut content = Vec::new();
        let commit = read_commit(&id, self.walk.hash_kind(), self.reader, &mut content).ok()?;
        let seconds = self.walk.commits[number as usize].seconds;
        let mut info = CommitInfo::new(id.to_string(), seconds);
        if let Some(author) = commit.author {
            info.author = text_of(author.name);
            info.email = text_of(author.email);
        }
        info.subject = text_of(commit.subject());
        let info = Arc::new(info);
        self.infos.insert(number, Arc::clone(&info));
        Some(info)
    }
}

fn set_refs(history: &mut HistoryPlace, refs: Option<&ContainingRefs>) {
    if let Some(refs) = refs {
        history.refs = refs.names.iter().map(|name| text_of(name)).collect();
        history.ref_count = refs.count;
    }
}

/// Returns bytes of a repository as text, and not more than people read.
fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(TEXT_BYTES_MAX)]).into_owned()
}

/// Returns the path that findings show. The names in a repository may be `..`, or begin with a
/// slash, so the parts are put together as text.
fn shown_path(repository: &Path, path: &[u8]) -> PathBuf {
    let mut shown = repository.as_os_str().as_encoded_bytes().to_vec();
    if !shown.is_empty() && !shown.ends_with(b"/") {
        shown.push(b'/');
    }
    shown.extend_from_slice(path);
    to_path(&shown)
}
