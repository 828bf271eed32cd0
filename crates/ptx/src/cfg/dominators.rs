//! Computes dominators by Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001): intersects paths up
//! the tree until nothing changes.

/// Returns each node's immediate dominator: the last node, other than itself, on all paths from the root to it. None
/// for the root and unreachable nodes.
pub(super) fn immediate_dominators(successors: &[Vec<u32>], root: u32) -> Vec<Option<u32>> {
    let order = postorder(successors, root);
    let mut rank = vec![None; successors.len()];
    for (place, node) in order.iter().enumerate() {
        rank[*node as usize] = Some(place);
    }
    // From here on, nodes are numbered by rank: the root has the highest.
    let mut predecessors = vec![Vec::new(); order.len()];
    for (place, node) in order.iter().enumerate() {
        for to in &successors[*node as usize] {
            if let Some(to) = rank[*to as usize] {
                predecessors[to].push(place);
            }
        }
    }
    let last = order.len() - 1;
    let mut above: Vec<Option<usize>> = vec![None; order.len()];
    above[last] = Some(last);
    let mut changed = true;
    while changed {
        changed = false;
        for node in (0..last).rev() {
            let known = predecessors[node].iter().copied().filter(|from| above[*from].is_some());
            let meeting = known.reduce(|left, right| intersect(&above, left, right));
            if above[node] != meeting {
                above[node] = meeting;
                changed = true;
            }
        }
    }
    let dominator = |node: usize| {
        let place = rank[node].filter(|place| *place != last)?;
        above[place].map(|above| order[above])
    };
    (0..successors.len()).map(dominator).collect()
}

fn intersect(above: &[Option<usize>], mut left: usize, mut right: usize) -> usize {
    while left != right {
        let lower = if left < right { &mut left } else { &mut right };
        match above[*lower] {
            Some(up) => *lower = up,
            None => return left.max(right),
        }
    }
    left
}

/// Returns the nodes reachable from the root in postorder of a depth-first walk.
fn postorder(successors: &[Vec<u32>], root: u32) -> Vec<u32> {
    let mut order = Vec::new();
    walk(successors, root, |node| order.push(node), |_, _| {});
    order
}

/// Returns the back edges: those to a node whose walk is not finished.
pub(super) fn back_edges(successors: &[Vec<u32>], root: u32) -> Vec<(u32, u32)> {
    let mut edges = Vec::new();
    walk(successors, root, |_| {}, |from, to| edges.push((from, to)));
    edges
}

/// Walks depth first without recursion, since graphs come from files.
fn walk(successors: &[Vec<u32>], root: u32, mut done: impl FnMut(u32), mut back: impl FnMut(u32, u32)) {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut states = vec![State::New; successors.len()];
    let mut path = vec![(root, 0)];
    states[root as usize] = State::Open;
    while let Some((node, next)) = path.last_mut() {
        let from = *node;
        let Some(to) = successors[from as usize].get(*next).copied() else {
            states[from as usize] = State::Done;
            done(from);
            path.pop();
            continue;
        };
        *next += 1;
        match states[to as usize] {
            State::New => {
                states[to as usize] = State::Open;
                path.push((to, 0));
            }
            State::Open => back(from, to),
            State::Done => {}
        }
    }
}
