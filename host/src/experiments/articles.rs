//! The articles and books that the experiments come from, each written down once.

use report::Article;

/// Offsets and strides, and what three early cards make of them.
pub(super) const GLOBAL_MEMORY: Article = Article {
    title: "How to Access Global Memory Efficiently in CUDA C/C++ Kernels",
    author: "Mark Harris",
    year: 2013,
    url: "https://developer.nvidia.com/blog/how-access-global-memory-efficiently-cuda-c-kernels/",
};

/// Three orders of access over more managed memory than a card has.
pub(super) const OVERSUBSCRIPTION: Article = Article {
    title: "Improving GPU Memory Oversubscription Performance",
    author: "Chirayu Garg",
    year: 2021,
    url: "https://developer.nvidia.com/blog/improving-gpu-memory-oversubscription-performance/",
};

/// The memory model, unified memory, and transposes without shared memory.
pub(super) const CHAPTER_4: Article =
    Article { title: "Professional CUDA C Programming, chapter 4: Global Memory", ..PROFESSIONAL_CUDA };

/// Tiles, stencils, constant memory and shuffles.
pub(super) const CHAPTER_5: Article = Article {
    title: "Professional CUDA C Programming, chapter 5: Shared Memory and Constant Memory",
    ..PROFESSIONAL_CUDA
};

const PROFESSIONAL_CUDA: Article = Article {
    title: "Professional CUDA C Programming",
    author: "John Cheng, Max Grossman, Ty McKercher",
    year: 2014,
    url: "https://www.wiley.com/en-us/Professional+CUDA+C+Programming-p-9781118739327",
};

/// Latencies and throughputs of Hopper's units, the copy engine and distributed shared memory among them.
pub(super) const DISSECTING_HOPPER: Article = Article {
    title: "Dissecting the NVIDIA Hopper Architecture through Microbenchmarking and Multiple Level Analysis",
    author: "Weile Luo, Ruibo Fan, Zeyu Li, Dayou Du, Hongyuan Liu, Qiang Wang, Xiaowen Chu",
    year: 2025,
    url: "https://arxiv.org/abs/2501.12084",
};

/// The time of launches, and graphs that hand over many at once.
pub(super) const LAUNCHES: Article = Article {
    title: "Getting Started with CUDA Graphs",
    author: "Alan Gray",
    year: 2019,
    url: "https://developer.nvidia.com/blog/cuda-graphs/",
};

/// Matrix products through tiles, and the memories that a variable can live in.
pub(super) const MASSIVELY_PARALLEL: Article = Article {
    title: "Programming Massively Parallel Processors, third edition, chapter 4: Memory and Data Locality",
    author: "David B. Kirk, Wen-mei W. Hwu",
    year: 2016,
    url: "https://shop.elsevier.com/books/programming-massively-parallel-processors/kirk/978-0-12-811986-0",
};
