//! What a worker does with the tasks of packs.

use super::context::{Context, PackWork};
use super::decoder::{Content, Decoder, Failure, READ_MAX};
use super::memory::SMALL;
use super::plan::PackPlan;
use super::report::SweepCounts;
use super::tasks::{GrantedTask, LargeLooseTask, Node, PutOffTask, Task, Tree, TreeTask};
use super::visitor::{Delta, ObjectVisitor, Unreadable, Visit};
use crate::delta::DeltaOp;
use crate::id::ObjectId;
use crate::object::ObjectKind;
use crate::pack::PackFile;
use crate::problem::{FileError, FileProblem, ObjectError};
use heist::yielding::{Git, GitPhase, YieldPolicy};
use heist::{BytePermit, ReadPermit, Spawner};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Longer ranges of roots are halved.
const ROOTS_MAX: u32 = 256;

/// Longer ranges of children are halved.
const CHILDREN_MAX: u32 = 64;

/// How many decoded bytes a worker counts for itself before it adds them to those of all.
const COUNTED_AT_ONCE: u64 = 4 << 20;

/// A worker's own things.
pub(super) struct Worker<V: ObjectVisitor> {
    pub context: Arc<Context<V>>,
    /// Taken when the worker ends.
    visitor: Option<V>,
    wanted: [bool; 4],
    pub decoder: Decoder,
    pub counts: SweepCounts,
    pub policy: Git,
    problems: Vec<FileError>,
    /// The decoded bytes that all workers know of.
    counted: u64,
}

pub(super) type Queue<'w, V> = Spawner<'w, Task<<V as ObjectVisitor>::State>>;

impl<V: ObjectVisitor> Worker<V> {
    pub(super) fn new(context: Arc<Context<V>>, visitor: V) -> Self {
        let mut policy = Git::default();
        policy.enter(GitPhase::PackDecode);
        Self {
            decoder: Decoder::new(context.store.limits().object_bytes),
            context,
            wanted: ObjectKind::ALL.map(|kind| visitor.wants(kind)),
            visitor: Some(visitor),
            counts: SweepCounts::default(),
            policy,
            problems: Vec::new(),
            counted: 0,
        }
    }

    /// Runs a task, unless the sweep is cut.
    pub(super) fn run(&mut self, task: Task<V::State>, queue: &mut Queue<'_, V>) {
        if self.context.is_cut() {
            return;
        }
        if let Some((task, _token)) = self.admit(task) {
            self.work(task, queue);
        }
        self.count_decoded();
    }

    /// Takes a read token for a task, if reads are limited. A task that gets none waits for one and
    /// comes back. (It may hold memory meanwhile: those that hold a token wait for nothing.)
    fn admit(&self, task: Task<V::State>) -> Option<(Task<V::State>, Option<ReadPermit>)> {
        let (Some(reads), Some(executor)) = (&self.context.reads, self.context.executor.get())
        else {
            return Some((task, None));
        };
        let task = match task {
            Task::Granted(granted) => {
                let GrantedTask { task, token } = *granted;
                return token.ok().map(|token| (task, Some(token)));
            }
            // Has to take a job from its lane first.
            Task::OnDevice(_) => return Some((task, None)),
            task => task,
        };
        let bytes = (READ_MAX as u64).min(reads.total().bytes);
        match reads.try_acquire(bytes) {
            Ok(token) => Some((task, Some(token))),
            Err(_) => {
                let granted = move |token| Task::Granted(Box::new(GrantedTask { task, token }));
                // A running task is never refused.
                let _ = reads.acquire_then(bytes, executor, granted);
                None
            }
        }
    }

    fn work(&mut self, task: Task<V::State>, queue: &mut Queue<'_, V>) {
        match task {
            Task::OnDevice(turn) => {
                turn.run(|pack, slot| queue.spawn_local(Task::Pack(Box::new((pack, slot)))));
            }
            Task::Pack(pack) => {
                let (pack, slot) = *pack;
                self.pack(pack, queue);
                drop(slot);
            }
            Task::Roots(plan, roots) => self.roots(plan, roots, queue),
            Task::Tree(task) => {
                let TreeTask { plan, mut roots, permit } = *task;
                // Refused only if the sweep is stopped.
                if let (Ok(permit), Some(root)) = (permit, roots.next()) {
                    self.tree(plan, root, roots, permit, queue);
                }
            }
            Task::Children(base, children) => self.children(base, children, queue),
            Task::PutOff(task) => {
                let PutOffTask { plan, entry, permit } = *task;
                if let Ok(permit) = permit {
                    self.resume(plan, entry, permit, queue);
                }
            }
            Task::Loose(range) => self.loose(range, None, queue),
            Task::LargeLoose(task) => {
                let LargeLooseTask { objects, permit } = *task;
                if let Ok(permit) = permit {
                    self.loose(objects, Some(permit), queue);
                }
            }
            Task::Granted(granted) => self.work(granted.task, queue),
        }
    }

    fn count_decoded(&mut self) {
        let new = self.decoder.decoded - self.counted;
        if new > COUNTED_AT_ONCE {
            self.counted = self.decoder.decoded;
            self.context.count_decoded(new);
        }
    }

    /// Returns `true` after as many objects as a task should have.
    pub(super) fn has_done_enough(&mut self) -> bool {
        self.count_decoded();
        self.policy.should_yield(Duration::ZERO) || self.context.is_cut()
    }

    fn pack(&mut self, number: u32, queue: &mut Queue<'_, V>) {
        let context = Arc::clone(&self.context);
        let pack = &context.packs[number as usize];
        let work = pack.work.lock().ok().and_then(|mut work| work.take());
        let Some(mut work) = work else { return };
        for error in std::mem::take(&mut work.nameless) {
            self.unreadable(None, None, error);
        }
        let store = &context.store;
        let opened = PackFile::open(store.access(), &pack.path, store.hash_kind());
        let file = match opened {
            Ok(file) => file,
            Err(error) => return self.unreadable_pack(error, &work),
        };
        if work.index.is_file() && u64::from(file.count) != work.index.count() {
            let what = "it has another number of objects than its pack states";
            let problem = FileError::new(work.index.path(), FileProblem::Malformed(what));
            self.problems.push(problem);
        }
        if let Err(error) = PackPlan::check(&file, &work.index) {
            return self.unreadable_pack(error, &work);
        }
        let mut reader = None;
        let kind_of = |id: &ObjectId| {
            let reader = reader.get_or_insert_with(|| store.reader());
            reader.header(id).ok().map(|(kind, _)| kind)
        };
        let plan = PackPlan::new(file, work.index, work.duplicates, kind_of);
        self.report_headers(&plan);
        let roots = 0..plan.roots.len() as u32;
        queue.spawn_local(Task::Roots(Arc::new(plan), roots));
    }

    /// Reports a pack, and each of its objects that no other pack has.
    fn unreadable_pack(&mut self, error: FileError, work: &PackWork) {
        self.problems.push(error);
        for place in 0..work.index.count() as u32 {
            if !work.duplicates.contains(place) {
                let id = work.index.id_at(place).ok();
                self.unreadable(id, None, ObjectError::Corrupt("its pack cannot be read"));
            }
        }
    }

    /// Reports what no root leads to.
    fn report_headers(&mut self, plan: &PackPlan) {
        for id in plan.doubtful() {
            let error = ObjectError::Corrupt("another object has the same place in the pack");
            self.unreadable(Some(id), None, error);
        }
        for entry in 0..plan.len() as u32 {
            if plan.forest.is_endless(entry) && !plan.is_duplicate(entry) {
                self.unreadable(Some(plan.id(entry)), None, ObjectError::EndlessChain);
            }
        }
    }

    fn roots(&mut self, plan: Arc<PackPlan>, mut roots: Range<u32>, queue: &mut Queue<'_, V>) {
        while roots.end - roots.start > ROOTS_MAX {
            let middle = roots.start + (roots.end - roots.start) / 2;
            queue.spawn_local(Task::Roots(Arc::clone(&plan), middle..roots.end));
            roots.end = middle;
        }
        while let Some(place) = roots.next() {
            let root = plan.roots[place as usize];
            if !plan.is_needed(root) {
                continue;
            }
            if let Some(error) = plan.broken(root) {
                self.fail(&plan, root, error.clone());
                continue;
            }
            if plan.forest.kind(root).is_some_and(|kind| !self.wanted[kind as usize]) {
                self.counts.unwanted += own_objects_below(&plan, root);
                continue;
            }
            let has_children = plan.forest.has_children(root);
            let size = plan.size(root) as usize;
            if has_children || size > SMALL || plan.external_base(root).is_some() {
                let trees = &self.context.memory.trees;
                let need = self.context.memory.of_tree(size, plan.forest.registers(root));
                match trees.try_acquire(need) {
                    Ok(permit) => self.tree(plan, place, roots, permit, queue),
                    Err(_) => {
                        let task = move |permit| {
                            Task::Tree(Box::new(TreeTask { plan, roots: place..roots.end, permit }))
                        };
                        // A running task is never refused.
                        let executor = self.context.executor.get();
                        let _ = executor.map(|executor| trees.acquire_then(need, executor, task));
                    }
                }
                return;
            }
            match self.decoder.whole(&plan, root, &self.context.memory) {
                Ok(content) => {
                    self.visit(&plan, root, &content.bytes, None);
                    self.decoder.pool.give(content.bytes);
                }
                Err(failure) => self.fail(&plan, root, as_error(failure)),
            }
            if self.has_done_enough() {
                if !roots.is_empty() {
                    queue.spawn_yielded(Task::Roots(plan, roots));
                }
                return;
            }
        }
    }

    /// Decodes the root at a place, and leaves the other roots and its children as tasks.
    fn tree(
        &mut self,
        plan: Arc<PackPlan>,
        place: u32,
        others: Range<u32>,
        permit: BytePermit,
        queue: &mut Queue<'_, V>,
    ) {
        if !others.is_empty() {
            queue.spawn_local(Task::Roots(Arc::clone(&plan), others));
        }
        let root = plan.roots[place as usize];
        match self.root(&plan, root) {
            Ok(content) => {
                self.begin(&Arc::new(Tree { plan, _permit: permit }), root, content, None, queue);
            }
            Err(Failure::Object(error)) => self.fail(&plan, root, error),
            Err(Failure::Short) => {
                drop(permit);
                self.put_off(plan, root);
            }
        }
    }

    /// Decodes an entry that has no base in its pack.
    fn root(&mut self, plan: &PackPlan, root: u32) -> Result<Content, Failure> {
        let context = &self.context;
        let Some(base) = plan.external_base(root) else {
            return self.decoder.whole(plan, root, &context.memory);
        };
        let base = context.store.reader().read(base).map_err(|error| match error {
            ObjectError::Io(_) => error,
            ObjectError::Missing => ObjectError::MissingBase(Some(*base)),
            _ => ObjectError::UnreadableBase,
        })?;
        self.decoder.delta(plan, root, &base.content, &context.memory)
    }

    /// Visits a decoded entry, and leaves what is based on it as a task.
    fn begin(
        &mut self,
        tree: &Arc<Tree>,
        entry: u32,
        content: Content,
        base: Option<&Node<V::State>>,
        queue: &mut Queue<'_, V>,
    ) {
        let state = self.visit(&tree.plan, entry, &content.bytes, base);
        let children = tree.plan.forest.child_range(entry);
        if children.is_empty() {
            self.decoder.pool.give(content.bytes);
            return;
        }
        let Content { bytes, reserved } = content;
        let tree = Arc::clone(tree);
        let node = Node { content: bytes, state, _reserved: reserved, tree };
        queue.spawn_local(Task::Children(Arc::new(node), children));
    }

    fn children(
        &mut self,
        base: Arc<Node<V::State>>,
        mut children: Range<u32>,
        queue: &mut Queue<'_, V>,
    ) {
        while children.end - children.start > CHILDREN_MAX {
            let middle = children.start + (children.end - children.start) / 2;
            queue.spawn_local(Task::Children(Arc::clone(&base), middle..children.end));
            children.end = middle;
        }
        let tree = Arc::clone(&base.tree);
        let plan = &tree.plan;
        while let Some(place) = children.next() {
            let entry = plan.forest.child(place);
            if !plan.is_needed(entry) {
                continue;
            }
            if let Some(error) = plan.broken(entry) {
                self.fail(plan, entry, error.clone());
                continue;
            }
            let has_children = plan.forest.has_children(entry);
            if has_children && !children.is_empty() {
                let others = std::mem::take(&mut children);
                queue.spawn_local(Task::Children(Arc::clone(&base), others));
            }
            let made = self.decoder.delta(plan, entry, &base.content, &self.context.memory);
            match made {
                Ok(content) => self.begin(&tree, entry, content, Some(&base), queue),
                Err(Failure::Object(error)) => self.fail(plan, entry, error),
                Err(Failure::Short) => self.put_off(Arc::clone(plan), entry),
            }
            // A range with a subtree ends here. Leaves go on until the slice is used up; the rest
            // is next, because it holds the base.
            if self.has_done_enough() && !children.is_empty() {
                queue.spawn_local(Task::Children(base, children));
                return;
            }
        }
        // The last holder of a base gives its buffer back.
        if let Some(node) = Arc::into_inner(base) {
            self.decoder.pool.give(node.content);
        }
    }

    /// Leaves an entry, and all that is based on it, for when all memory is free. See
    /// [`super::memory`].
    fn put_off(&mut self, plan: Arc<PackPlan>, entry: u32) {
        self.counts.put_off += 1;
        let trees = &self.context.memory.trees;
        let task = move |permit| Task::PutOff(Box::new(PutOffTask { plan, entry, permit }));
        let executor = self.context.executor.get();
        let _ = executor.map(|executor| trees.acquire_then(trees.total(), executor, task));
    }

    /// Decodes an entry from the root of its chain. The bases on the way are not visited.
    fn resume(
        &mut self,
        plan: Arc<PackPlan>,
        entry: u32,
        permit: BytePermit,
        queue: &mut Queue<'_, V>,
    ) {
        let mut base: Option<Content> = None;
        let mut chain = plan.chain_above(entry);
        chain.push(entry);
        for link in chain {
            let made = match &base {
                None => self.root(&plan, link),
                Some(base) => self.decoder.delta(&plan, link, &base.bytes, &self.context.memory),
            };
            match made {
                Ok(content) => {
                    if let Some(old) = base.replace(content) {
                        self.decoder.pool.give(old.bytes);
                    }
                }
                Err(Failure::Object(error)) if link == entry => {
                    return self.fail(&plan, entry, error);
                }
                Err(Failure::Object(_)) => {
                    return self.fail(&plan, entry, ObjectError::UnreadableBase);
                }
                Err(Failure::Short) => return self.fail(&plan, entry, as_error(Failure::Short)),
            }
            self.count_decoded();
            if self.context.is_cut() {
                return;
            }
        }
        if let Some(content) = base {
            self.begin(&Arc::new(Tree { plan, _permit: permit }), entry, content, None, queue);
        }
    }

    /// Hands an entry to the visitor, unless another pack's copy is visited. `base` is the node
    /// that it was made from.
    fn visit(
        &mut self,
        plan: &PackPlan,
        entry: u32,
        content: &[u8],
        base: Option<&Node<V::State>>,
    ) -> Option<V::State> {
        if plan.is_duplicate(entry) {
            return None;
        }
        let kind = plan.forest.kind(entry)?;
        let ops = std::mem::take(&mut self.decoder.ops);
        let delta = base.and_then(|base| delta_of(base, &ops));
        let is_base = plan.forest.has_children(entry);
        let state = self.visit_object(&Visit { id: plan.id(entry), kind, content, delta, is_base });
        self.decoder.ops = ops;
        state
    }

    pub(super) fn visit_object(&mut self, visit: &Visit<'_, V::State>) -> Option<V::State> {
        self.counts.visited[visit.kind as usize] += 1;
        self.counts.visited_bytes += visit.content.len() as u64;
        self.visitor.as_mut()?.visit(visit)
    }

    pub(super) fn wants(&self, kind: ObjectKind) -> bool {
        self.wanted[kind as usize]
    }

    /// Reports an entry, and all that is based on it, as unreadable.
    fn fail(&mut self, plan: &PackPlan, entry: u32, error: ObjectError) {
        let mut failed = vec![entry];
        let mut error = Some(error);
        while let Some(entry) = failed.pop() {
            let error = error.take().unwrap_or(ObjectError::UnreadableBase);
            if !plan.is_duplicate(entry) {
                self.unreadable(Some(plan.id(entry)), plan.forest.kind(entry), error);
            }
            failed.extend(plan.forest.child_range(entry).map(|place| plan.forest.child(place)));
        }
    }

    pub(super) fn unreadable(
        &mut self,
        id: Option<ObjectId>,
        kind: Option<ObjectKind>,
        error: ObjectError,
    ) {
        self.counts.unreadable += 1;
        if let Some(visitor) = &mut self.visitor {
            visitor.unreadable(&Unreadable { id, kind, error });
        }
    }
}

impl<V: ObjectVisitor> Drop for Worker<V> {
    fn drop(&mut self) {
        self.counts.decoded_bytes = self.decoder.decoded;
        let mut results = self.context.results();
        results.counts.add(&self.counts);
        results.problems.append(&mut self.problems);
        results.visitors.extend(self.visitor.take());
    }
}

fn delta_of<'a, S>(base: &'a Node<S>, ops: &'a [DeltaOp]) -> Option<Delta<'a, S>> {
    let state = base.state.as_ref()?;
    Some(Delta { base: state, base_len: base.content.len(), ops })
}

/// What to say of an object that has all memory for itself and still not enough. (Sizes above the
/// limit are found before that.)
fn as_error(failure: Failure) -> ObjectError {
    match failure {
        Failure::Object(error) => error,
        Failure::Short => ObjectError::Cut,
    }
}

/// Counts an entry and all that is based on it, without those that another pack has.
fn own_objects_below(plan: &PackPlan, entry: u32) -> u64 {
    if !plan.forest.has_children(entry) {
        return u64::from(!plan.is_duplicate(entry));
    }
    let mut count = 0;
    let mut entries = vec![entry];
    while let Some(entry) = entries.pop() {
        count += u64::from(!plan.is_duplicate(entry));
        entries.extend(plan.forest.child_range(entry).map(|place| plan.forest.child(place)));
    }
    count
}
