//! Nodes of any kind from one structure, `CUgraphNodeParams`: the kind, and its parameters.

use std::ffi::c_int;

use super::codes::{INVALID_VALUE, Outcome};
use super::copy_shapes::Copy3d;
use super::entry::{In, Out};
use super::graph_edits::{EdgeData, whole_edges};
use super::graph_nodes::{
    FillNode, HostNode, KernelNode2, add, add_child, change, change_in, event_operation, graph_operation,
};
use super::operations::Operation;
use super::registry::Handle;
use crate::Code;

/// `CUgraphNodeParams`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Parameters {
    kind: c_int,
    reserved: [c_int; 3],
    of_kind: [u64; 29],
    reserved_end: u64,
}

const _: () = assert!(size_of::<Parameters>() == 256);

/// `CUDA_MEMCPY_NODE_PARAMS`.
#[derive(Clone, Copy)]
#[repr(C)]
struct CopyNode {
    flags: c_int,
    reserved: c_int,
    context: Handle,
    copy: Copy3d,
}

/// `CUDA_CHILD_GRAPH_NODE_PARAMS`.
#[derive(Clone, Copy)]
#[repr(C)]
struct ChildNode {
    graph: Handle,
    ownership: c_int,
}

/// Returns the operation of a node. `parameters` points to a [`Parameters`].
fn operation(parameters: In<Parameters>) -> Outcome<Operation> {
    let Parameters { kind, reserved, reserved_end, .. } = parameters.get()?;
    if reserved != [0; 3] || reserved_end != 0 {
        return Err(INVALID_VALUE);
    }
    let of_kind = parameters.cast::<u8>().byte_offset(std::mem::offset_of!(Parameters, of_kind));
    match kind {
        0 => of_kind.cast::<KernelNode2>().get()?.operation(),
        1 => {
            let CopyNode { flags: 0, reserved: 0, copy, .. } = of_kind.cast::<CopyNode>().get()? else {
                return Err(INVALID_VALUE);
            };
            Ok(Operation::Copy(copy.copy()?))
        }
        2 => of_kind.cast::<FillNode>().get()?.operation(),
        3 => of_kind.cast::<HostNode>().get()?.operation(),
        4 => match of_kind.cast::<ChildNode>().get()? {
            ChildNode { graph, ownership: 0 } => graph_operation(graph),
            ChildNode { ownership: 1, .. } => refuse("takes a child graph over instead of copying it"),
            _ => Err(INVALID_VALUE),
        },
        5 => Ok(Operation::Nothing),
        6 => event_operation(of_kind.cast::<Handle>().get()?, Operation::Wait),
        7 => event_operation(of_kind.cast::<Handle>().get()?, Operation::Record),
        8 => refuse("signals an external semaphore"),
        9 => refuse("waits for an external semaphore"),
        10 => refuse("allocates memory"),
        11 => refuse("frees memory"),
        12 => refuse("waits for or writes words of memory"),
        13 => refuse("has a condition"),
        _ => Err(INVALID_VALUE),
    }
}

/// Adds a node, which owns a copy of its graph if it is a child-graph node.
fn add_any(
    out: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    node: In<Parameters>,
) -> Outcome {
    const CHILD_GRAPH: c_int = 4;
    // Also refuses operations that such a node cannot have.
    let operation = operation(node)?;
    if node.get()?.kind == CHILD_GRAPH {
        let of_kind = node.cast::<u8>().byte_offset(std::mem::offset_of!(Parameters, of_kind));
        return add_child(out, graph, after, count, of_kind.cast::<ChildNode>().get()?.graph);
    }
    add(out, graph, after, count, operation)
}

fn refuse(what: &str) -> Outcome<Operation> {
    super::say_once(format_args!("a node of a graph that {what} is not simulated"));
    Err(Code::NOT_SUPPORTED)
}

entry_points! {
    fn cuGraphAddNode(
        out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, parameters: In<Parameters>,
    ) {
        add_any(out, graph, after, count, parameters)
    }

    fn cuGraphAddNode_v2(
        out: Out<Handle>, graph: Handle, after: In<Handle>, data: In<EdgeData>, count: usize,
        parameters: In<Parameters>,
    ) {
        whole_edges(data, count)?;
        add_any(out, graph, after, count, parameters)
    }

    fn cuGraphNodeSetParams(node: Handle, parameters: In<Parameters>) {
        change(node, operation(parameters)?)
    }

    fn cuGraphExecNodeSetParams(executable: Handle, node: Handle, parameters: In<Parameters>) {
        change_in(executable, node, operation(parameters)?)
    }
}
