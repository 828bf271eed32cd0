//! The nodes of graphs built by hand: kernels, copies, fills, host functions, events, other graphs.

use std::ffi::{c_uint, c_void};
use std::sync::Arc;

use super::codes::{INVALID_CONTEXT, INVALID_VALUE, Outcome};
use super::contexts::{self, Current};
use super::copy_shapes::Copy3d;
use super::driver::{State, driver};
use super::entry::{HostFunction, In, Out};
use super::fills::Fill;
use super::graphs::executable_mut;
use super::launches::{Arguments, Launch};
use super::operations::{HostCall, Operation};
use super::registry::Handle;

/// `CUDA_KERNEL_NODE_PARAMS`, in its first form.
#[derive(Clone, Copy)]
#[repr(C)]
struct KernelNode {
    function: Handle,
    grid: [c_uint; 3],
    block: [c_uint; 3],
    dynamic_shared_bytes: c_uint,
    each: In<In<u8>>,
    extra: In<usize>,
}

/// `CUDA_KERNEL_NODE_PARAMS` from CUDA 12 on: it can name a library's kernel instead of a function.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct KernelNode2 {
    first: KernelNode,
    kernel: Handle,
    context: Handle,
}

/// `CUDA_MEMSET_NODE_PARAMS`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct FillNode {
    address: u64,
    pitch: usize,
    value: c_uint,
    element: c_uint,
    width: usize,
    height: usize,
}

/// `CUDA_HOST_NODE_PARAMS`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct HostNode {
    function: HostFunction,
    data: *mut c_void,
}

const _: () = assert!(
    size_of::<KernelNode>() == 56
        && size_of::<KernelNode2>() == 72
        && size_of::<FillNode>() == 40
        && size_of::<HostNode>() == 16
);

impl KernelNode {
    fn operation(&self, current: &Current) -> Outcome<Operation> {
        let arguments = Arguments { each: self.each, extra: self.extra };
        let launch =
            Launch::new(current, self.function, self.grid, self.block, self.dynamic_shared_bytes, arguments)?;
        launch.check(current.device)?;
        Ok(Operation::Kernel(Arc::new(launch)))
    }
}

impl KernelNode2 {
    pub(super) fn operation(&self) -> Outcome<Operation> {
        let current = match self.context {
            0 => contexts::current()?,
            context => contexts::at(driver()?, context, INVALID_CONTEXT)?,
        };
        let function = if self.first.function == 0 { self.kernel } else { self.first.function };
        KernelNode { function, ..self.first }.operation(&current)
    }
}

/// Returns the launch that a kernel node was made with.
fn kernel_node(node: Handle) -> Outcome<KernelNode> {
    let launch = asked(node, |operation, _| match operation {
        Operation::Kernel(launch) => Some(launch.clone()),
        _ => None,
    })?;
    Ok(KernelNode {
        function: launch.function,
        grid: launch.grid,
        block: launch.block,
        dynamic_shared_bytes: launch.dynamic_shared_bytes,
        each: In::from_slice(launch.pointers()?),
        extra: In::null(),
    })
}

impl FillNode {
    pub(super) fn operation(&self) -> Outcome<Operation> {
        if !matches!(self.element, 1 | 2 | 4) || self.width == 0 || self.height == 0 {
            return Err(INVALID_VALUE);
        }
        Ok(Operation::Fill(Fill {
            address: self.address,
            pitch: if self.height == 1 { self.width * self.element as usize } else { self.pitch },
            value: self.value,
            element: self.element as usize,
            width: self.width,
            rows: self.height,
        }))
    }
}

impl HostNode {
    pub(super) fn operation(&self) -> Outcome<Operation> {
        Ok(Operation::host(self.function.ok_or(INVALID_VALUE)?, self.data))
    }
}

/// Adds a node to a graph.
pub(super) fn add(
    out: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    operation: Operation,
) -> Outcome {
    let driver = driver()?;
    out.wanted()?;
    let after = if count == 0 { Vec::new() } else { after.all(count)? };
    let node = driver.state().add_node(graph, operation, after)?;
    out.set(node)
}

/// Changes a node's operation to another of the same kind.
pub(super) fn change(node: Handle, operation: Operation) -> Outcome {
    let driver = driver()?;
    let mut state = driver.state();
    let node = state.node_mut(node)?;
    if std::mem::discriminant(&node.operation) != std::mem::discriminant(&operation) {
        return Err(INVALID_VALUE);
    }
    node.operation = operation;
    Ok(())
}

/// Changes a node's operation in an instantiated graph.
pub(super) fn change_in(executable: Handle, node: Handle, operation: Operation) -> Outcome {
    executable_mut(&mut driver()?.state(), executable)?.change(node, operation)
}

/// Returns a property of a node's operation, if it is of the right kind.
fn asked<T>(node: Handle, of: impl FnOnce(&Operation, &State) -> Option<T>) -> Outcome<T> {
    let driver = driver()?;
    let state = driver.state();
    of(&state.node(node)?.operation, &state).ok_or(INVALID_VALUE)
}

pub(super) fn event_operation(event: Handle, operation: fn(Handle) -> Operation) -> Outcome<Operation> {
    driver()?.state().events.get(event)?;
    Ok(operation(event))
}

/// Makes a graph the operation of a node in an instantiated graph.
pub(super) fn graph_operation(graph: Handle) -> Outcome<Operation> {
    Ok(Operation::Graph(Arc::new(driver()?.state().executable_of(graph)?)))
}

/// Adds a node that owns a copy of a graph.
pub(super) fn add_child(
    out: Out<Handle>,
    graph: Handle,
    after: In<Handle>,
    count: usize,
    child: Handle,
) -> Outcome {
    if graph == child {
        return Err(INVALID_VALUE);
    }
    add(out, graph, after, count, graph_operation(child)?)?;
    let mut state = driver()?.state();
    let copy = state.clone_owned(child)?;
    state.node_mut(out.get()?)?.child = Some(copy);
    Ok(())
}

entry_points! {
    fn cuGraphAddKernelNode(
        out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, parameters: In<KernelNode>,
    ) {
        let operation = parameters.get()?.operation(&contexts::current()?)?;
        add(out, graph, after, count, operation)
    }

    fn cuGraphAddKernelNode_v2(
        out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, parameters: In<KernelNode2>,
    ) {
        let operation = parameters.get()?.operation()?;
        add(out, graph, after, count, operation)
    }

    // The pointers to parameters that are returned stay valid while the node is unchanged.
    fn cuGraphKernelNodeGetParams(node: Handle, out: Out<KernelNode>) {
        out.set(kernel_node(node)?)
    }

    fn cuGraphKernelNodeGetParams_v2(node: Handle, out: Out<KernelNode2>) {
        out.set(KernelNode2 { first: kernel_node(node)?, kernel: 0, context: 0 })
    }

    fn cuGraphKernelNodeSetParams_v2(node: Handle, parameters: In<KernelNode2>) {
        change(node, parameters.get()?.operation()?)
    }

    fn cuGraphKernelNodeSetParams(node: Handle, parameters: In<KernelNode>) {
        change(node, parameters.get()?.operation(&contexts::current()?)?)
    }

    fn cuGraphExecKernelNodeSetParams(executable: Handle, node: Handle, parameters: In<KernelNode>) {
        change_in(executable, node, parameters.get()?.operation(&contexts::current()?)?)
    }

    fn cuGraphExecKernelNodeSetParams_v2(executable: Handle, node: Handle, parameters: In<KernelNode2>) {
        change_in(executable, node, parameters.get()?.operation()?)
    }

    fn cuGraphAddMemcpyNode(
        out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, copy: In<Copy3d>, _context: Handle,
    ) {
        add(out, graph, after, count, Operation::Copy(copy.get()?.copy()?))
    }

    fn cuGraphMemcpyNodeGetParams(node: Handle, out: Out<Copy3d>) {
        out.set(asked(node, |operation, _| match operation {
            Operation::Copy(copy) => Some(Copy3d::of(copy)),
            _ => None,
        })?)
    }

    fn cuGraphMemcpyNodeSetParams(node: Handle, copy: In<Copy3d>) {
        change(node, Operation::Copy(copy.get()?.copy()?))
    }

    fn cuGraphExecMemcpyNodeSetParams(executable: Handle, node: Handle, copy: In<Copy3d>, _context: Handle) {
        change_in(executable, node, Operation::Copy(copy.get()?.copy()?))
    }

    fn cuGraphAddMemsetNode(
        out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, fill: In<FillNode>, _context: Handle,
    ) {
        add(out, graph, after, count, fill.get()?.operation()?)
    }

    fn cuGraphMemsetNodeGetParams(node: Handle, out: Out<FillNode>) {
        out.set(asked(node, |operation, _| match operation {
            Operation::Fill(fill) => Some(FillNode {
                address: fill.address,
                pitch: fill.pitch,
                value: fill.value,
                element: fill.element as c_uint,
                width: fill.width,
                height: fill.rows,
            }),
            _ => None,
        })?)
    }

    fn cuGraphMemsetNodeSetParams(node: Handle, fill: In<FillNode>) {
        change(node, fill.get()?.operation()?)
    }

    fn cuGraphExecMemsetNodeSetParams(executable: Handle, node: Handle, fill: In<FillNode>, _context: Handle) {
        change_in(executable, node, fill.get()?.operation()?)
    }

    fn cuGraphAddHostNode(
        out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, host: In<HostNode>,
    ) {
        add(out, graph, after, count, host.get()?.operation()?)
    }

    fn cuGraphHostNodeGetParams(node: Handle, out: Out<HostNode>) {
        let HostCall { function, data } = asked(node, |operation, _| match operation {
            Operation::Host(call) => Some(*call),
            _ => None,
        })?;
        out.set(HostNode { function: Some(function), data: std::ptr::with_exposed_provenance_mut(data) })
    }

    fn cuGraphHostNodeSetParams(node: Handle, host: In<HostNode>) {
        change(node, host.get()?.operation()?)
    }

    fn cuGraphExecHostNodeSetParams(executable: Handle, node: Handle, host: In<HostNode>) {
        change_in(executable, node, host.get()?.operation()?)
    }

    fn cuGraphAddEmptyNode(out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize) {
        add(out, graph, after, count, Operation::Nothing)
    }

    fn cuGraphAddEventRecordNode(
        out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, event: Handle,
    ) {
        add(out, graph, after, count, event_operation(event, Operation::Record)?)
    }

    fn cuGraphEventRecordNodeGetEvent(node: Handle, out: Out<Handle>) {
        out.set(asked(node, |operation, _| match operation {
            Operation::Record(event) => Some(*event),
            _ => None,
        })?)
    }

    fn cuGraphEventRecordNodeSetEvent(node: Handle, event: Handle) {
        change(node, event_operation(event, Operation::Record)?)
    }

    fn cuGraphAddEventWaitNode(
        out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, event: Handle,
    ) {
        add(out, graph, after, count, event_operation(event, Operation::Wait)?)
    }

    fn cuGraphEventWaitNodeGetEvent(node: Handle, out: Out<Handle>) {
        out.set(asked(node, |operation, _| match operation {
            Operation::Wait(event) => Some(*event),
            _ => None,
        })?)
    }

    fn cuGraphEventWaitNodeSetEvent(node: Handle, event: Handle) {
        change(node, event_operation(event, Operation::Wait)?)
    }

    fn cuGraphExecEventRecordNodeSetEvent(executable: Handle, node: Handle, event: Handle) {
        change_in(executable, node, event_operation(event, Operation::Record)?)
    }

    fn cuGraphExecEventWaitNodeSetEvent(executable: Handle, node: Handle, event: Handle) {
        change_in(executable, node, event_operation(event, Operation::Wait)?)
    }

    fn cuGraphAddChildGraphNode(
        out: Out<Handle>, graph: Handle, after: In<Handle>, count: usize, child: Handle,
    ) {
        add_child(out, graph, after, count, child)
    }

    fn cuGraphChildGraphNodeGetGraph(node: Handle, out: Out<Handle>) {
        let driver = driver()?;
        let state = driver.state();
        out.set(state.node(node)?.child.ok_or(INVALID_VALUE)?)
    }

    fn cuGraphExecChildGraphNodeSetParams(executable: Handle, node: Handle, child: Handle) {
        change_in(executable, node, graph_operation(child)?)
    }
}
