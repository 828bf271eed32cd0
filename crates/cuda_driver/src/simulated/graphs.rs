//! Graphs: operations with dependencies, built by hand or by capture, and executed any number of times.

use std::collections::{HashMap, HashSet};
use std::ffi::{c_char, c_int, c_uint, c_ulonglong};
use std::sync::Arc;

use super::codes::{GRAPH_EXEC_UPDATE_FAILURE, INVALID_HANDLE, INVALID_VALUE, Outcome};
use super::contexts::{self, Current};
use super::driver::{State, driver};
use super::entry::Out;
use super::operations::{Operation, submit};
use super::registry::{Handle, new_handle};
use super::user_objects::{Data, Kept};
use super::{events, timeline};

/// A graph under construction.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    /// Nodes in the order of their creation.
    pub nodes: Vec<Node>,
    /// True if its capture was invalidated.
    pub invalidated: bool,
    /// True if a node owns it.
    pub owned: bool,
    /// Ends of streams that were destroyed during its capture.
    pub loose: Vec<Handle>,
    /// The user objects that it keeps alive.
    pub kept: Vec<Kept>,
}

/// An operation in a graph.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub handle: Handle,
    pub operation: Operation,
    /// Nodes on which it depends.
    pub after: Vec<Handle>,
    /// The graph that it owns, which becomes its operation when the node's graph is instantiated.
    pub child: Option<Handle>,
}

/// An instantiated graph, its nodes in topological order.
#[derive(Clone, Debug)]
pub(super) struct Executable {
    nodes: Vec<Node>,
    /// Nodes that a launch skips.
    disabled: HashSet<Handle>,
    /// The user objects that it keeps alive.
    kept: Vec<Arc<Data>>,
}

impl Graph {
    pub(super) fn node(&self, handle: Handle) -> Option<&Node> {
        self.nodes.iter().find(|node| node.handle == handle)
    }

    /// Returns these nodes and all their predecessors.
    pub(super) fn with_all_before(&self, nodes: &[Handle]) -> HashSet<Handle> {
        let mut found = HashSet::new();
        let mut left = nodes.to_vec();
        while let Some(next) = left.pop() {
            if found.insert(next) {
                left.extend(self.node(next).into_iter().flat_map(|node| &node.after));
            }
        }
        found
    }

    /// Returns the nodes in topological order; None if there is a cycle.
    fn sorted(&self) -> Option<Vec<Node>> {
        let mut done = HashSet::new();
        let mut sorted = Vec::with_capacity(self.nodes.len());
        while sorted.len() < self.nodes.len() {
            let before = sorted.len();
            for node in &self.nodes {
                if !done.contains(&node.handle) && node.after.iter().all(|other| done.contains(other)) {
                    done.insert(node.handle);
                    sorted.push(node.clone());
                }
            }
            if sorted.len() == before {
                return None;
            }
        }
        Some(sorted)
    }

    pub(super) fn edges(&self) -> Vec<(Handle, Handle)> {
        self.nodes.iter().flat_map(|node| node.after.iter().map(|after| (*after, node.handle))).collect()
    }
}

impl State {
    /// Adds a node that depends on others of the same graph.
    pub(super) fn add_node(
        &mut self,
        graph: Handle,
        operation: Operation,
        after: Vec<Handle>,
    ) -> Outcome<Handle> {
        let graph = self.graphs.get_mut(graph)?;
        let unique: HashSet<_> = after.iter().collect();
        if unique.len() < after.len() || after.iter().any(|other| graph.node(*other).is_none()) {
            return Err(INVALID_VALUE);
        }
        let handle = new_handle();
        graph.nodes.push(Node { handle, operation, after, child: None });
        Ok(handle)
    }

    /// Returns a node of any graph.
    pub(super) fn node(&self, handle: Handle) -> Outcome<&Node> {
        self.graphs.iter().find_map(|(_, graph)| graph.node(handle)).ok_or(INVALID_VALUE)
    }

    /// Returns a node of any graph, to be changed.
    pub(super) fn node_mut(&mut self, handle: Handle) -> Outcome<&mut Node> {
        let mut nodes = self.graphs.iter_mut().flat_map(|(_, graph)| &mut graph.nodes);
        nodes.find(|node| node.handle == handle).ok_or(INVALID_VALUE)
    }

    /// Clones a graph, with the graphs that its nodes own. Returns the clone, and its nodes by those of the original.
    pub(super) fn clone_graph(&mut self, original: Handle) -> Outcome<(Handle, HashMap<Handle, Handle>)> {
        let mut copy = self.graphs.get(original)?.clone();
        let renamed: HashMap<Handle, Handle> =
            copy.nodes.iter().map(|node| (node.handle, new_handle())).collect();
        for node in &mut copy.nodes {
            node.handle = renamed[&node.handle];
            for after in &mut node.after {
                *after = renamed[after];
            }
            if let Some(child) = node.child {
                node.child = Some(self.clone_owned(child)?);
            }
        }
        copy.owned = false;
        Ok((self.graphs.insert(copy), renamed))
    }

    /// Clones a graph for a node, which owns the clone.
    pub(super) fn clone_owned(&mut self, original: Handle) -> Outcome<Handle> {
        let (copy, _) = self.clone_graph(original)?;
        self.graphs.get_mut(copy)?.owned = true;
        Ok(copy)
    }

    /// Removes a graph and those that its nodes own, to be dropped while no lock is held.
    pub(super) fn remove_graph(&mut self, handle: Handle) -> Outcome<Vec<Graph>> {
        let graph = self.graphs.remove(handle)?;
        let mut removed = Vec::new();
        for child in graph.nodes.iter().filter_map(|node| node.child) {
            removed.append(&mut self.remove_graph(child)?);
        }
        removed.push(graph);
        Ok(removed)
    }

    /// Instantiates a graph in its present state, with the graphs that its nodes own.
    pub(super) fn executable_of(&mut self, handle: Handle) -> Outcome<Executable> {
        let nodes = self.graphs.get(handle)?.nodes.iter().enumerate();
        let children: Vec<(usize, Handle)> =
            nodes.filter_map(|(index, node)| Some((index, node.child?))).collect();
        for (index, child) in children {
            let operation = Operation::Graph(Arc::new(self.executable_of(child)?));
            self.graphs.get_mut(handle)?.nodes[index].operation = operation;
        }
        Executable::of(self.graphs.get(handle)?)
    }

    pub(super) fn graph_of(&mut self, node: Handle) -> Outcome<&mut Graph> {
        let mut graphs = self.graphs.iter_mut().map(|(_, graph)| graph);
        graphs.find(|graph| graph.node(node).is_some()).ok_or(INVALID_VALUE)
    }
}

impl Executable {
    fn of(graph: &Graph) -> Outcome<Self> {
        let kept = graph.kept.iter().map(|kept| kept.data.clone()).collect();
        graph.sorted().map(|nodes| Self { nodes, disabled: HashSet::new(), kept }).ok_or(INVALID_VALUE)
    }

    /// Changes a node's operation to another of the same kind.
    pub(super) fn change(&mut self, node: Handle, operation: Operation) -> Outcome {
        let node = self.nodes.iter_mut().find(|other| other.handle == node).ok_or(INVALID_VALUE)?;
        if kind(&node.operation) != kind(&operation) {
            return Err(INVALID_VALUE);
        }
        node.operation = operation;
        Ok(())
    }

    /// Returns true if launches execute a node. Only kernels, copies and fills can be disabled.
    fn is_enabled(&self, node: Handle) -> Outcome<bool> {
        let node = self.nodes.iter().find(|other| other.handle == node).ok_or(INVALID_VALUE)?;
        match node.operation {
            Operation::Kernel(_) | Operation::Copy(_) | Operation::Fill(_) => {
                Ok(!self.disabled.contains(&node.handle))
            }
            _ => Err(INVALID_VALUE),
        }
    }

    /// Exchanges the nodes' operations with another graph's, if it has the same nodes in the same order with the same
    /// edges. The nodes keep their handles. Returns false if the graphs differ.
    fn exchange(&mut self, other: &mut Self) -> bool {
        if self.nodes.len() != other.nodes.len() {
            return false;
        }
        let own: HashMap<Handle, Handle> =
            other.nodes.iter().zip(&self.nodes).map(|(other, own)| (other.handle, own.handle)).collect();
        let is_alike = self.nodes.iter().zip(&other.nodes).all(|(node, other)| {
            let after: HashSet<Handle> = other.after.iter().map(|after| own[after]).collect();
            kind(&node.operation) == kind(&other.operation) && after == node.after.iter().copied().collect()
        });
        if is_alike {
            for (node, other) in self.nodes.iter_mut().zip(&mut other.nodes) {
                std::mem::swap(&mut node.operation, &mut other.operation);
            }
            std::mem::swap(&mut self.kept, &mut other.kept);
        }
        is_alike
    }
}

/// Executes a graph in a stream. Independent nodes overlap in virtual time as work of different streams does.
pub(super) fn execute(executable: &Executable, owner: &Current, stream: Handle) -> Outcome {
    let driver = owner.driver;
    let begin = timeline::ready(&driver.state(), stream)?;
    let end = execute_from(executable, owner, begin)?;
    driver.state().streams.get_mut(stream)?.clock = end;
    Ok(())
}

fn execute_from(executable: &Executable, owner: &Current, begin: f64) -> Outcome<f64> {
    let driver = owner.driver;
    let mut ends: HashMap<Handle, f64> = HashMap::new();
    let mut last = begin;
    for node in &executable.nodes {
        let ready = node.after.iter().filter_map(|other| ends.get(other)).copied().fold(begin, f64::max);
        let end = match &node.operation {
            _ if executable.disabled.contains(&node.handle) => ready,
            Operation::Record(event) => {
                driver.state().events.get_mut(*event)?.mark = events::Mark::At(ready);
                ready
            }
            Operation::Wait(event) => match driver.state().events.get(*event)?.mark {
                events::Mark::At(at) => ready.max(at),
                _ => ready,
            },
            Operation::Graph(inner) => execute_from(inner, owner, ready)?,
            operation => {
                let work = operation.run(driver, owner.device, owner.handle)?;
                timeline::place(&mut driver.state(), owner.handle, ready, work)?
            }
        };
        ends.insert(node.handle, end);
        last = last.max(end);
        // After a fault, nothing more is executed.
        if driver.state().contexts.get(owner.handle)?.broken.is_some() {
            break;
        }
    }
    Ok(last)
}

/// Returns the driver API's number for the kind of a node.
pub(super) fn kind(operation: &Operation) -> c_int {
    match operation {
        Operation::Kernel(_) => 0,
        Operation::Copy(_) => 1,
        Operation::Fill(_) => 2,
        Operation::Host(_) => 3,
        Operation::Graph(_) => 4,
        Operation::Nothing | Operation::Prefetch(_) => 5,
        Operation::Wait(_) => 6,
        Operation::Record(_) => 7,
        Operation::Free(_) => 11,
    }
}

fn instantiate(out: Out<Handle>, graph: Handle) -> Outcome {
    let current = contexts::current()?;
    out.wanted()?;
    let mut state = current.driver.state();
    let executable = state.executable_of(graph)?;
    out.set(state.executables.insert(Arc::new(executable)))
}

entry_points! {
    fn cuGraphCreate(out: Out<Handle>, flags: c_uint) {
        let driver = driver()?;
        out.wanted()?;
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        out.set(driver.state().graphs.insert(Graph::default()))
    }

    fn cuGraphDestroy(graph: Handle) {
        let driver = driver()?;
        // User objects of the graph are destroyed while no lock is held.
        let removed = {
            let mut state = driver.state();
            if state.graphs.get(graph)?.owned {
                return Err(INVALID_VALUE);
            }
            state.remove_graph(graph)?
        };
        drop(removed);
        Ok(())
    }

    fn cuGraphInstantiate_v2(
        out: Out<Handle>, graph: Handle, error_node: Out<Handle>, log: Out<c_char>, room: usize,
    ) {
        error_node.set_if_wanted(0);
        if !log.is_null() && room > 0 {
            log.set_text("", room)?;
        }
        instantiate(out, graph)
    }

    fn cuGraphInstantiateWithFlags(out: Out<Handle>, graph: Handle, flags: c_ulonglong) {
        // Flags: free at launch, upload, launch from the device, priorities of nodes.
        if flags & !0xf != 0 {
            return Err(INVALID_VALUE);
        }
        instantiate(out, graph)
    }

    // From CUDA 12: flags, a stream for the upload, and the result, in one structure.
    fn cuGraphInstantiateWithParams(out: Out<Handle>, graph: Handle, parameters: Out<Instantiation>) {
        let mut given = parameters.get()?;
        given.error_node = 0;
        let outcome = instantiate(out, graph);
        given.result = if outcome.is_ok() { 0 } else { 1 };
        parameters.set(given)?;
        outcome
    }

    fn cuGraphUpload(executable: Handle, stream: Handle) {
        driver()?.state().executables.get(executable)?;
        submit(stream, Operation::Nothing)
    }

    fn cuGraphLaunch(executable: Handle, stream: Handle) {
        let executable = driver()?.state().executables.get(executable)?.clone();
        submit(stream, Operation::Graph(executable))
    }

    fn cuGraphExecDestroy(executable: Handle) {
        let driver = driver()?;
        let removed = driver.state().executables.remove(executable)?;
        drop(removed);
        Ok(())
    }

    fn cuGraphNodeSetEnabled(executable: Handle, node: Handle, enabled: c_uint) {
        let driver = driver()?;
        let mut state = driver.state();
        let executable = executable_mut(&mut state, executable)?;
        executable.is_enabled(node)?;
        if enabled == 0 {
            executable.disabled.insert(node);
        } else {
            executable.disabled.remove(&node);
        }
        Ok(())
    }

    fn cuGraphNodeGetEnabled(executable: Handle, node: Handle, out: Out<c_uint>) {
        let driver = driver()?;
        let enabled = driver.state().executables.get(executable)?.is_enabled(node)?;
        out.set(c_uint::from(enabled))
    }

    fn cuGraphExecGetFlags(executable: Handle, flags: Out<c_ulonglong>) {
        driver()?.state().executables.get(executable)?;
        flags.set(0)
    }

    fn cuGraphExecUpdate(executable: Handle, graph: Handle, error_node: Out<Handle>, result: Out<c_int>) {
        update(executable, graph, |code| {
            error_node.set_if_wanted(0);
            result.set_if_wanted(code);
        })
    }

    // From CUDA 12: the result, the failed node, and the node that it depends on, in one structure.
    fn cuGraphExecUpdate_v2(executable: Handle, graph: Handle, result: Out<UpdateResult>) {
        update(executable, graph, |result_code| {
            result.set_if_wanted(UpdateResult { result: result_code, error_node: 0, error_from_node: 0 });
        })
    }
}

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Instantiation {
    flags: u64,
    upload_stream: Handle,
    error_node: Handle,
    result: c_int,
}

/// `CUgraphExecUpdateResultInfo`.
#[derive(Clone, Copy)]
#[repr(C)]
struct UpdateResult {
    result: c_int,
    error_node: Handle,
    error_from_node: Handle,
}

/// Replaces the operations of an instantiated graph by those of a graph of the same shape.
fn update(executable: Handle, graph: Handle, tell: impl FnOnce(c_int)) -> Outcome {
    const SUCCESS: c_int = 0;
    const TOPOLOGY_CHANGED: c_int = 2;
    let driver = driver()?;
    let mut state = driver.state();
    let mut other = state.executable_of(graph)?;
    let is_alike = executable_mut(&mut state, executable)?.exchange(&mut other);
    drop(state);
    // User objects that only the old executable kept are destroyed while no lock is held.
    drop(other);
    if !is_alike {
        tell(TOPOLOGY_CHANGED);
        return Err(GRAPH_EXEC_UPDATE_FAILURE);
    }
    tell(SUCCESS);
    Ok(())
}

/// Returns the executable of a handle, to be changed.
pub(super) fn executable_mut(state: &mut State, handle: Handle) -> Outcome<&mut Executable> {
    state.executables.get_mut(handle).map(Arc::make_mut).map_err(|_| INVALID_HANDLE)
}
