//! The control flow of one function on numbered blocks: its immediate post-dominators, and the influence of its branches.
//!
//! Post-dominators are the dominators of the reversed graph, from a virtual exit that every end of the function leads to;
//! they are found by the iteration of Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm", 2001).

/// The end of a block, as far as the analysis needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A branch, or a return.
    Open,
    /// LLVM's `unreachable`, as after a trap.
    Trap,
}

/// One block, as the function's code has it.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// Blocks that it can go to, by number; one may be there twice.
    pub(super) successors: Vec<usize>,
    pub(super) end: End,
    /// Whether it has a barrier, so that it counts even if a trap follows.
    pub(super) has_barrier: bool,
}

/// The graph, without the edges to blocks from which every path ends in a trap.
pub(super) struct Flow {
    successors: Vec<Vec<usize>>,
    /// Each block's immediate post-dominator; for some it is the exit, whose number is that of the blocks.
    post_dominators: Vec<usize>,
}

/// The part of the function that a branch decides about.
pub(super) struct Influence {
    /// The blocks between the branch and its immediate post-dominator: those that can be reached from it before that.
    pub(super) region: Vec<usize>,
    /// The immediate post-dominator, where all paths from the branch have joined; `None` if they end apart.
    pub(super) join: Option<usize>,
}

impl Flow {
    pub(super) fn new(nodes: &[Node]) -> Self {
        let doomed = doomed(nodes);
        let successors: Vec<Vec<usize>> = nodes
            .iter()
            .map(|node| {
                let mut live: Vec<usize> =
                    node.successors.iter().copied().filter(|successor| !doomed[*successor]).collect();
                live.sort_unstable();
                live.dedup();
                live
            })
            .collect();
        let post_dominators = post_dominators(&successors);
        Self { successors, post_dominators }
    }

    /// The influence of the branch at a block's end. `None` without a branch, or if all paths but one lead to a trap.
    pub(super) fn influence(&self, block: usize) -> Option<Influence> {
        if self.successors[block].len() < 2 {
            return None;
        }
        let join = self.post_dominators[block];
        let mut seen = vec![false; self.successors.len()];
        let mut region = Vec::new();
        let mut open = self.successors[block].clone();
        while let Some(at) = open.pop() {
            if at != join && !std::mem::replace(&mut seen[at], true) {
                region.push(at);
                open.extend(&self.successors[at]);
            }
        }
        region.sort_unstable();
        Some(Influence { region, join: (join < self.successors.len()).then_some(join) })
    }
}

/// The blocks from which every path ends in a trap, without a barrier before it. A path that never ends is none of these.
fn doomed(nodes: &[Node]) -> Vec<bool> {
    let mut doomed = vec![false; nodes.len()];
    loop {
        let mut changed = false;
        // Most edges go forward, so the last block first finds nearly all at once.
        for (block, node) in nodes.iter().enumerate().rev() {
            let traps = match node.end {
                End::Trap => true,
                End::Open => {
                    !node.successors.is_empty() && node.successors.iter().all(|successor| doomed[*successor])
                }
            };
            if traps && !node.has_barrier && !doomed[block] {
                doomed[block] = true;
                changed = true;
            }
        }
        if !changed {
            return doomed;
        }
    }
}

/// The immediate post-dominator of each block, where the number of blocks stands for the exit.
fn post_dominators(successors: &[Vec<usize>]) -> Vec<usize> {
    let exit = successors.len();
    let mut forward = successors.to_vec();
    forward.push(Vec::new());
    let mut backward = vec![Vec::new(); exit + 1];
    for (block, successors) in successors.iter().enumerate() {
        for successor in successors {
            backward[*successor].push(block);
        }
        if successors.is_empty() {
            forward[block].push(exit);
            backward[exit].push(block);
        }
    }
    let mut order = postorder(exit, &backward);
    // From a loop without an end, no path leads to the exit. Each of its blocks gets an edge there, which can only enlarge influences.
    let unending: Vec<usize> = (0..exit).filter(|block| !order.contains(block)).collect();
    if !unending.is_empty() {
        for block in unending {
            forward[block].push(exit);
            backward[exit].push(block);
        }
        order = postorder(exit, &backward);
    }
    let mut number = vec![0; exit + 1];
    for (position, block) in order.iter().enumerate() {
        number[*block] = position;
    }
    let mut found: Vec<Option<usize>> = vec![None; exit + 1];
    found[exit] = Some(exit);
    loop {
        let mut changed = false;
        for block in order.iter().rev().copied().filter(|block| *block != exit) {
            let known = forward[block].iter().copied().filter(|successor| found[*successor].is_some());
            let common = known.reduce(|mut one, mut other| {
                while one != other {
                    let behind = if number[one] < number[other] { &mut one } else { &mut other };
                    *behind = found[*behind].unwrap_or(exit);
                }
                one
            });
            if common.is_some() && found[block] != common {
                found[block] = common;
                changed = true;
            }
        }
        if !changed {
            return found.into_iter().take(exit).map(|found| found.unwrap_or(exit)).collect();
        }
    }
}

/// The nodes that `start` leads to, each after all that it was the first to lead to.
fn postorder(start: usize, edges: &[Vec<usize>]) -> Vec<usize> {
    let mut seen = vec![false; edges.len()];
    seen[start] = true;
    let mut order = Vec::with_capacity(edges.len());
    let mut path = vec![(start, 0)];
    while let Some((node, next)) = path.last_mut() {
        match edges[*node].get(*next) {
            Some(&target) => {
                *next += 1;
                if !std::mem::replace(&mut seen[target], true) {
                    path.push((target, 0));
                }
            }
            None => {
                order.push(*node);
                path.pop();
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A graph from each block's successors; a block without any returns.
    fn graph(successors: &[&[usize]]) -> Vec<Node> {
        let node = |to: &&[usize]| Node { successors: to.to_vec(), end: End::Open, has_barrier: false };
        successors.iter().map(node).collect()
    }

    fn influence(nodes: &[Node], block: usize) -> Option<(Vec<usize>, Option<usize>)> {
        let found = Flow::new(nodes).influence(block)?;
        Some((found.region, found.join))
    }

    #[test]
    fn a_branch_decides_what_lies_before_its_join() {
        let nodes = graph(&[&[1, 2], &[3], &[3], &[4, 5], &[5], &[]]);
        assert_eq!(influence(&nodes, 0), Some((vec![1, 2], Some(3))));
        assert_eq!(influence(&nodes, 3), Some((vec![4], Some(5))));
        assert_eq!(influence(&nodes, 1), None);
    }

    #[test]
    fn the_branch_that_leaves_a_loop_decides_all_of_it() {
        // 1 is the header, 2 the body with a branch of its own, 4 what follows the loop.
        let nodes = graph(&[&[1], &[2, 4], &[3, 1], &[1], &[]]);
        assert_eq!(influence(&nodes, 1), Some((vec![1, 2, 3], Some(4))));
        assert_eq!(influence(&nodes, 2), Some((vec![3], Some(1))));
        // A second exit: from the body straight to the end.
        let nodes = graph(&[&[1], &[2, 4], &[3, 5], &[1], &[5], &[]]);
        assert_eq!(influence(&nodes, 2), Some((vec![1, 2, 3, 4], Some(5))));
    }

    #[test]
    fn paths_that_end_apart_have_no_join() {
        let nodes = graph(&[&[1, 2], &[], &[3], &[]]);
        assert_eq!(influence(&nodes, 0), Some((vec![1, 2, 3], None)));
    }

    #[test]
    fn a_path_to_a_trap_is_none_unless_a_barrier_is_on_it() {
        let mut nodes = graph(&[&[1, 3], &[2], &[], &[]]);
        nodes[2].end = End::Trap;
        assert_eq!(influence(&nodes, 0), None);
        nodes[1].has_barrier = true;
        assert_eq!(influence(&nodes, 0), Some((vec![1, 3], None)));
    }

    #[test]
    fn a_loop_without_an_end_is_a_path_of_its_own() {
        // 1 and 2 go round for ever.
        let nodes = graph(&[&[1, 3], &[2], &[1], &[]]);
        assert_eq!(influence(&nodes, 0), Some((vec![1, 2, 3], None)));
    }
}
