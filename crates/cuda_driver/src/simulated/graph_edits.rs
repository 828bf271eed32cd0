//! Inspects graphs and edits their nodes and edges; clones and prints them.

use std::ffi::{c_char, c_int, c_uint};
use std::fmt::Write;

use super::codes::{INVALID_VALUE, OPERATING_SYSTEM, Outcome};
use super::driver::driver;
use super::entry::{In, Out};
use super::graphs::{Graph, Node, kind};
use super::operations::Operation;
use super::registry::Handle;
use crate::Code;

/// Returns a list in the driver API's way: without a buffer its length alone, else as many entries as fit, the rest of
/// the buffer filled with null.
fn list(handles: &[Handle], out: Out<Handle>, count: Out<usize>) -> Outcome {
    if out.is_null() {
        return count.set(handles.len());
    }
    let room = count.get()?;
    let mut filled = handles[..handles.len().min(room)].to_vec();
    filled.resize(room, 0);
    out.set_all(&filled)?;
    count.set(handles.len().min(room))
}

fn dependencies(from: In<Handle>, to: In<Handle>, count: usize) -> Outcome<Vec<(Handle, Handle)>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    Ok(from.all(count)?.into_iter().zip(to.all(count)?).collect())
}

/// `CUgraphEdgeData`: the point of a kernel at which an edge lets its target begin, and the kind of dependency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct EdgeData([u8; 8]);

/// Refuses edges that let a kernel begin before its predecessor has ended. Edges without data are full dependencies.
pub(super) fn whole_edges(data: In<EdgeData>, count: usize) -> Outcome {
    if count == 0 || data.is_null() {
        return Ok(());
    }
    if data.all(count)?.iter().all(|data| *data == EdgeData::default()) {
        return Ok(());
    }
    super::say_once(format_args!(
        "an edge of a graph is programmatic: a kernel may begin before the one that it depends on has ended. The simulated \
         driver has no such edges; pass edge data of zeros"
    ));
    Err(Code::NOT_SUPPORTED)
}

/// Returns the data of edges, all full dependencies: as many as `count` says there is room for, before it becomes the
/// number of edges.
fn tell_whole_edges(data: Out<EdgeData>, is_asked: bool, count: Out<usize>) -> Outcome {
    if data.is_null() || !is_asked {
        return Ok(());
    }
    data.set_all(&vec![EdgeData::default(); count.get()?])
}

entry_points! {
    fn cuGraphClone(out: Out<Handle>, original: Handle) {
        let driver = driver()?;
        out.wanted()?;
        let mut state = driver.state();
        let (clone, renamed) = state.clone_graph(original)?;
        state.clones.insert(clone, renamed);
        out.set(clone)
    }

    fn cuGraphNodeFindInClone(out: Out<Handle>, node: Handle, clone: Handle) {
        let driver = driver()?;
        let state = driver.state();
        let found = state.clones.get(&clone).and_then(|renamed| renamed.get(&node)).copied();
        let found = found.filter(|found| state.node(*found).is_ok());
        out.set(found.ok_or(INVALID_VALUE)?)
    }

    fn cuGraphGetNodes(graph: Handle, nodes: Out<Handle>, count: Out<usize>) {
        let driver = driver()?;
        let state = driver.state();
        let handles: Vec<Handle> = state.graphs.get(graph)?.nodes.iter().map(|node| node.handle).collect();
        list(&handles, nodes, count)
    }

    fn cuGraphGetRootNodes(graph: Handle, nodes: Out<Handle>, count: Out<usize>) {
        let driver = driver()?;
        let state = driver.state();
        let roots = state.graphs.get(graph)?.nodes.iter().filter(|node| node.after.is_empty());
        list(&roots.map(|node| node.handle).collect::<Vec<_>>(), nodes, count)
    }

    fn cuGraphGetEdges(graph: Handle, from: Out<Handle>, to: Out<Handle>, count: Out<usize>) {
        get_edges(graph, from, to, count)
    }

    fn cuGraphGetEdges_v2(
        graph: Handle, from: Out<Handle>, to: Out<Handle>, data: Out<EdgeData>, count: Out<usize>,
    ) {
        tell_whole_edges(data, !from.is_null(), count)?;
        get_edges(graph, from, to, count)
    }

    fn cuGraphNodeGetDependencies(node: Handle, nodes: Out<Handle>, count: Out<usize>) {
        get_dependencies(node, nodes, count)
    }

    fn cuGraphNodeGetDependencies_v2(
        node: Handle, nodes: Out<Handle>, data: Out<EdgeData>, count: Out<usize>,
    ) {
        tell_whole_edges(data, !nodes.is_null(), count)?;
        get_dependencies(node, nodes, count)
    }

    fn cuGraphNodeGetDependentNodes(node: Handle, nodes: Out<Handle>, count: Out<usize>) {
        get_dependent_nodes(node, nodes, count)
    }

    fn cuGraphNodeGetDependentNodes_v2(
        node: Handle, nodes: Out<Handle>, data: Out<EdgeData>, count: Out<usize>,
    ) {
        tell_whole_edges(data, !nodes.is_null(), count)?;
        get_dependent_nodes(node, nodes, count)
    }

    fn cuGraphAddDependencies(graph: Handle, from: In<Handle>, to: In<Handle>, count: usize) {
        add_dependencies(graph, from, to, count)
    }

    fn cuGraphAddDependencies_v2(
        graph: Handle, from: In<Handle>, to: In<Handle>, data: In<EdgeData>, count: usize,
    ) {
        whole_edges(data, count)?;
        add_dependencies(graph, from, to, count)
    }

    fn cuGraphRemoveDependencies(graph: Handle, from: In<Handle>, to: In<Handle>, count: usize) {
        remove_dependencies(graph, from, to, count)
    }

    fn cuGraphRemoveDependencies_v2(
        graph: Handle, from: In<Handle>, to: In<Handle>, data: In<EdgeData>, count: usize,
    ) {
        whole_edges(data, count)?;
        remove_dependencies(graph, from, to, count)
    }

    fn cuGraphNodeGetType(node: Handle, out: Out<c_int>) {
        let driver = driver()?;
        let state = driver.state();
        out.set(kind(&state.node(node)?.operation))
    }

    fn cuGraphDestroyNode(node: Handle) {
        let driver = driver()?;
        let mut state = driver.state();
        let child = state.node(node)?.child;
        let graph = state.graph_of(node)?;
        graph.nodes.retain(|other| other.handle != node);
        for other in &mut graph.nodes {
            other.after.retain(|before| *before != node);
        }
        let removed = child.map(|child| state.remove_graph(child)).transpose()?;
        drop(state);
        // User objects of the graph are destroyed while no lock is held.
        drop(removed);
        Ok(())
    }

    fn cuGraphDebugDotPrint(graph: Handle, path: In<c_char>, _flags: c_uint) {
        let driver = driver()?;
        let path = path.text()?;
        let text = dot(driver.state().graphs.get(graph)?);
        std::fs::write(&path, text).map_err(|cause| {
            super::say(format_args!("cuGraphDebugDotPrint cannot write {path}: {cause}"));
            OPERATING_SYSTEM
        })
    }
}

fn get_edges(graph: Handle, from: Out<Handle>, to: Out<Handle>, count: Out<usize>) -> Outcome {
    let driver = driver()?;
    let edges = driver.state().graphs.get(graph)?.edges();
    if from.is_null() != to.is_null() {
        return Err(INVALID_VALUE);
    }
    let (first, second): (Vec<_>, Vec<_>) = edges.into_iter().unzip();
    if !from.is_null() {
        let room = count.get()?;
        let mut filled = second[..second.len().min(room)].to_vec();
        filled.resize(room, 0);
        to.set_all(&filled)?;
    }
    list(&first, from, count)
}

fn get_dependencies(node: Handle, nodes: Out<Handle>, count: Out<usize>) -> Outcome {
    let driver = driver()?;
    let state = driver.state();
    list(&state.node(node)?.after, nodes, count)
}

fn get_dependent_nodes(node: Handle, nodes: Out<Handle>, count: Out<usize>) -> Outcome {
    let driver = driver()?;
    let mut state = driver.state();
    let graph = state.graph_of(node)?;
    let dependents = graph.nodes.iter().filter(|other| other.after.contains(&node));
    list(&dependents.map(|other| other.handle).collect::<Vec<_>>(), nodes, count)
}

/// Changes edges of a graph: all, or none if `change` refuses one. It receives the graph and the edge's two nodes.
fn change_edges(
    graph: Handle,
    from: In<Handle>,
    to: In<Handle>,
    count: usize,
    change: impl Fn(&mut Graph, Handle, Handle) -> Outcome,
) -> Outcome {
    let driver = driver()?;
    let mut state = driver.state();
    let graph = state.graphs.get_mut(graph)?;
    let edges = dependencies(from, to, count)?;
    let mut changed = graph.clone();
    edges.into_iter().try_for_each(|(from, to)| change(&mut changed, from, to))?;
    *graph = changed;
    Ok(())
}

/// Returns the node of an edge that waits for the other.
fn waiting(graph: &mut Graph, node: Handle) -> Outcome<&mut Node> {
    graph.nodes.iter_mut().find(|other| other.handle == node).ok_or(INVALID_VALUE)
}

fn add_dependencies(graph: Handle, from: In<Handle>, to: In<Handle>, count: usize) -> Outcome {
    change_edges(graph, from, to, count, |graph, from, to| {
        graph.node(from).ok_or(INVALID_VALUE)?;
        let node = waiting(graph, to)?;
        if node.after.contains(&from) || from == to {
            return Err(INVALID_VALUE);
        }
        node.after.push(from);
        Ok(())
    })
}

fn remove_dependencies(graph: Handle, from: In<Handle>, to: In<Handle>, count: usize) -> Outcome {
    change_edges(graph, from, to, count, |graph, from, to| {
        let node = waiting(graph, to)?;
        let place = node.after.iter().position(|other| *other == from).ok_or(INVALID_VALUE)?;
        node.after.remove(place);
        Ok(())
    })
}

/// Returns the graph in Graphviz's language.
fn dot(graph: &Graph) -> String {
    let mut text = "digraph graph_of_cuda {\n".to_owned();
    for node in &graph.nodes {
        let label = match &node.operation {
            Operation::Kernel(launch) => format!("kernel {}", launch.name()),
            Operation::Copy(_) => "copy".to_owned(),
            Operation::Fill(_) => "fill".to_owned(),
            Operation::Host(_) => "host function".to_owned(),
            Operation::Graph(_) => "graph".to_owned(),
            Operation::Nothing => "empty".to_owned(),
            Operation::Wait(_) => "wait for event".to_owned(),
            Operation::Record(_) => "record event".to_owned(),
            Operation::Prefetch(_) => "prefetch".to_owned(),
            Operation::Free(_) => "free".to_owned(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    n{:x} [label=\"{label}\"];", node.handle);
    }
    for (from, to) in graph.edges() {
        let _ = writeln!(text, "    n{from:x} -> n{to:x};");
    }
    text.push_str("}\n");
    text
}
