#![no_std]
#![no_main]
#![forbid(unsafe_code)]

//! Shapes, layouts and the like of one's own, which would say what is not true.

use cuda_safe::input::Counted;
use cuda_safe::shape::{AlongX, Linear, Planar, Shape, WholeWarps};
use cuda_safe::space::Space;
use cuda_safe::tile::{Dynamic, Layout, Turn};
use cuda_safe::{Bits, Lanes};

pub enum Own {}

impl Shape for Own {} //~ ERROR the trait bound `Own: cuda_safe::sealed::Sealed` is not satisfied
impl AlongX for Own {} //~ ERROR the trait bound `Own: cuda_safe::sealed::Sealed` is not satisfied
impl Linear for Own {} //~ ERROR the trait bound `Own: cuda_safe::sealed::Sealed` is not satisfied
impl WholeWarps for Own {} //~ ERROR the trait bound `Own: cuda_safe::sealed::Sealed` is not satisfied
impl Planar for Own { //~ ERROR the trait bound `Own: cuda_safe::sealed::Sealed` is not satisfied
    fn position() -> (u32, u32) { //~ ERROR method `position` has 0 parameters but the declaration in trait `cuda_safe::shape::Planar::position` has 1
        (0, 0)
    }
}

impl Layout for Own { //~ ERROR the trait bound `Own: cuda_safe::sealed::Sealed` is not satisfied
    const CELLS: usize = 0;
}

impl<L> Dynamic<L> for Own { //~ ERROR the trait bound `Own: cuda_safe::sealed::Sealed` is not satisfied
    fn cells(_: &L, _: [u32; 3]) -> usize {
        0
    }
}

impl Turn for Own { //~ ERROR the trait bound `Own: cuda_safe::sealed::Sealed` is not satisfied
    type Next = Self;

    fn turn(self) -> Self { //~ ERROR method `turn` has 1 parameter but the declaration in trait `cuda_safe::tile::Turn::turn` has 2
        self
    }
}

impl Lanes for Own { //~ ERROR the trait bound `Own: cuda_safe::sealed::Sealed` is not satisfied
    type Shape = cuda_safe::shape::Warps;

    fn map<T, R, F>(&mut self, _: cuda_safe::PerThread<T>, _: F) -> cuda_safe::PerThread<R>
    where
        F: Fn(&cuda_safe::Thread<Self::Shape>, T) -> R + cuda_safe::Contained,
    {
        loop {}
    }
}

impl Counted<1000> for Own {} //~ ERROR the trait bound `Own: cuda_safe::sealed::Sealed` is not satisfied

#[derive(Clone, Copy)]
pub struct First;

impl Space for First { //~ ERROR the trait `cuda_safe::space::Space` requires an `unsafe impl` declaration
    type Place = cuda_safe::place::Own;

    fn element(self, _: Self::Place) -> usize {
        0
    }
}

impl Bits for First {} //~ ERROR the trait `Bits` requires an `unsafe impl` declaration
