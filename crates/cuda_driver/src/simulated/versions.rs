//! The CUDA versions of the driver API's functions and of their forms, for `cuGetProcAddress`.

use std::ffi::c_int;

/// A CUDA version, and the symbol to which a name refers from there on.
type Since = (c_int, &'static str);

/// Functions with several forms after CUDA 11.0, oldest first. A form must not stand for one with other arguments, so
/// forms that the simulated driver lacks are listed too.
const CHANGED: &[(&str, &[Since])] = &[
    ("cuCtxCreate", &[(0, "cuCtxCreate_v2"), (11_040, "cuCtxCreate_v3"), (12_050, "cuCtxCreate_v4")]),
    ("cuCtxGetDevice", &[(0, "cuCtxGetDevice"), (13_000, "cuCtxGetDevice_v2")]),
    ("cuCtxSynchronize", &[(0, "cuCtxSynchronize"), (13_000, "cuCtxSynchronize_v2")]),
    ("cuDeviceGetUuid", &[(0, "cuDeviceGetUuid"), (11_040, "cuDeviceGetUuid_v2")]),
    ("cuEventElapsedTime", &[(0, "cuEventElapsedTime"), (12_080, "cuEventElapsedTime_v2")]),
    ("cuGetProcAddress", &[(11_030, "cuGetProcAddress"), (12_000, "cuGetProcAddress_v2")]),
    ("cuGraphAddDependencies", &[(0, "cuGraphAddDependencies"), (12_030, "cuGraphAddDependencies_v2")]),
    ("cuGraphAddKernelNode", &[(0, "cuGraphAddKernelNode"), (12_000, "cuGraphAddKernelNode_v2")]),
    ("cuGraphAddNode", &[(12_020, "cuGraphAddNode"), (12_030, "cuGraphAddNode_v2")]),
    (
        "cuGraphExecKernelNodeSetParams",
        &[(0, "cuGraphExecKernelNodeSetParams"), (12_000, "cuGraphExecKernelNodeSetParams_v2")],
    ),
    ("cuGraphExecUpdate", &[(0, "cuGraphExecUpdate"), (12_000, "cuGraphExecUpdate_v2")]),
    ("cuGraphGetEdges", &[(0, "cuGraphGetEdges"), (12_030, "cuGraphGetEdges_v2")]),
    ("cuGraphInstantiate", &[(0, "cuGraphInstantiate_v2"), (12_000, "cuGraphInstantiateWithFlags")]),
    (
        "cuGraphKernelNodeGetParams",
        &[(0, "cuGraphKernelNodeGetParams"), (12_000, "cuGraphKernelNodeGetParams_v2")],
    ),
    (
        "cuGraphKernelNodeSetParams",
        &[(0, "cuGraphKernelNodeSetParams"), (12_000, "cuGraphKernelNodeSetParams_v2")],
    ),
    (
        "cuGraphNodeGetDependencies",
        &[(0, "cuGraphNodeGetDependencies"), (12_030, "cuGraphNodeGetDependencies_v2")],
    ),
    (
        "cuGraphNodeGetDependentNodes",
        &[(0, "cuGraphNodeGetDependentNodes"), (12_030, "cuGraphNodeGetDependentNodes_v2")],
    ),
    (
        "cuGraphRemoveDependencies",
        &[(0, "cuGraphRemoveDependencies"), (12_030, "cuGraphRemoveDependencies_v2")],
    ),
    ("cuMemAdvise", &[(0, "cuMemAdvise"), (12_020, "cuMemAdvise_v2")]),
    ("cuMemPrefetchAsync", &[(0, "cuMemPrefetchAsync"), (12_020, "cuMemPrefetchAsync_v2")]),
    ("cuMemcpy3DBatchAsync", &[(12_080, "cuMemcpy3DBatchAsync"), (13_000, "cuMemcpy3DBatchAsync_v2")]),
    ("cuMemcpyBatchAsync", &[(12_080, "cuMemcpyBatchAsync"), (13_000, "cuMemcpyBatchAsync_v2")]),
    ("cuStreamBatchMemOp", &[(0, "cuStreamBatchMemOp"), (11_070, "cuStreamBatchMemOp_v2")]),
    (
        "cuStreamGetCaptureInfo",
        &[
            (0, "cuStreamGetCaptureInfo"),
            (11_030, "cuStreamGetCaptureInfo_v2"),
            (12_030, "cuStreamGetCaptureInfo_v3"),
        ],
    ),
    ("cuStreamGetCtx", &[(0, "cuStreamGetCtx"), (12_050, "cuStreamGetCtx_v2")]),
    (
        "cuStreamUpdateCaptureDependencies",
        &[(0, "cuStreamUpdateCaptureDependencies"), (12_030, "cuStreamUpdateCaptureDependencies_v2")],
    ),
    ("cuStreamWaitValue32", &[(0, "cuStreamWaitValue32"), (11_070, "cuStreamWaitValue32_v2")]),
    ("cuStreamWaitValue64", &[(0, "cuStreamWaitValue64"), (11_070, "cuStreamWaitValue64_v2")]),
    ("cuStreamWriteValue32", &[(0, "cuStreamWriteValue32"), (11_070, "cuStreamWriteValue32_v2")]),
    ("cuStreamWriteValue64", &[(0, "cuStreamWriteValue64"), (11_070, "cuStreamWriteValue64_v2")]),
];

/// Functions with a single form that came after CUDA 11.4, of those that the simulated driver exports.
const ADDED: &[(c_int, &[&str])] = &[
    (11_060, &["cuGraphNodeGetEnabled", "cuGraphNodeSetEnabled", "cuLaunchKernelEx"]),
    (
        11_070,
        &["cuModuleGetLoadingMode", "cuOccupancyMaxActiveClusters", "cuOccupancyMaxPotentialClusterSize"],
    ),
    (
        12_000,
        &[
            "cuCtxGetId",
            "cuGraphExecGetFlags",
            "cuGraphInstantiateWithParams",
            "cuKernelGetAttribute",
            "cuKernelGetFunction",
            "cuKernelSetAttribute",
            "cuKernelSetCacheConfig",
            "cuLibraryGetGlobal",
            "cuLibraryGetKernel",
            "cuLibraryGetManaged",
            "cuLibraryGetModule",
            "cuLibraryGetUnifiedFunction",
            "cuLibraryLoadData",
            "cuLibraryLoadFromFile",
            "cuLibraryUnload",
            "cuStreamGetId",
            "cuTensorMapEncodeTiled",
            "cuTensorMapReplaceAddress",
        ],
    ),
    (12_010, &["cuCtxSetFlags"]),
    (12_020, &["cuGraphExecNodeSetParams", "cuGraphNodeSetParams"]),
    (12_030, &["cuFuncGetName", "cuKernelGetName", "cuStreamBeginCaptureToGraph"]),
    (
        12_040,
        &[
            "cuFuncGetParamInfo",
            "cuFuncIsLoaded",
            "cuFuncLoad",
            "cuKernelGetParamInfo",
            "cuLibraryEnumerateKernels",
            "cuLibraryGetKernelCount",
            "cuModuleEnumerateFunctions",
            "cuModuleGetFunctionCount",
        ],
    ),
    (12_050, &["cuKernelGetLibrary"]),
    (12_080, &["cuStreamGetDevice"]),
    (13_000, &["cuMemGetDefaultMemPool", "cuMemGetMemPool", "cuMemPrefetchBatchAsync", "cuMemSetMemPool"]),
];

/// The function to which a name refers in a CUDA version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing<'a> {
    /// The function of this symbol.
    Symbol(&'a str),
    /// None yet: it came later.
    Later,
    /// The newest form, which is old.
    Newest,
}

/// Returns the function that a name refers to in a CUDA version.
pub(super) fn standing(name: &str, version: c_int) -> Standing<'_> {
    if let Some((_, forms)) = CHANGED.iter().find(|(base, _)| *base == name) {
        let newest = forms.iter().rev().find(|(since, _)| *since <= version);
        return newest.map_or(Standing::Later, |(_, symbol)| Standing::Symbol(symbol));
    }
    match since(name) {
        Some(since) if since > version => Standing::Later,
        Some(_) => Standing::Symbol(name),
        None => Standing::Newest,
    }
}

/// Returns the version with which a symbol came; `None` for old ones.
pub(super) fn since(symbol: &str) -> Option<c_int> {
    let added = ADDED.iter().find(|(_, names)| names.contains(&symbol)).map(|(since, _)| *since);
    let mut forms = CHANGED.iter().flat_map(|(_, forms)| *forms);
    added.or_else(|| {
        forms.find(|(_, form)| *form == symbol).map(|(since, _)| *since).filter(|since| *since > 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::driver::DRIVER_VERSION;
    use crate::simulated::per_thread_base;
    use crate::{CUST_ENTRY_POINTS, NEWER_ENTRY_POINTS, OTHER_ENTRY_POINTS};

    #[test]
    fn a_name_stands_for_the_newest_form_of_its_version() {
        assert_eq!(standing("cuCtxCreate", 11_000), Standing::Symbol("cuCtxCreate_v2"));
        assert_eq!(standing("cuCtxCreate", 12_040), Standing::Symbol("cuCtxCreate_v3"));
        assert_eq!(standing("cuCtxCreate", 13_000), Standing::Symbol("cuCtxCreate_v4"));
        assert_eq!(standing("cuCtxGetDevice", 12_090), Standing::Symbol("cuCtxGetDevice"));
        assert_eq!(standing("cuCtxGetDevice", 13_000), Standing::Symbol("cuCtxGetDevice_v2"));
        assert_eq!(standing("cuLibraryLoadData", 11_080), Standing::Later);
        assert_eq!(standing("cuLibraryLoadData", 12_000), Standing::Symbol("cuLibraryLoadData"));
        assert_eq!(standing("cuMemAlloc", 12_000), Standing::Newest);
    }

    #[test]
    fn every_newer_export_has_a_version_that_the_driver_claims() {
        let exported = || NEWER_ENTRY_POINTS.iter().chain(OTHER_ENTRY_POINTS);
        for base in exported().filter_map(|name| per_thread_base(name)) {
            assert!(exported().chain(CUST_ENTRY_POINTS).any(|name| *name == base), "{base} is not exported");
        }
        for name in exported().filter(|name| per_thread_base(name).is_none()) {
            let since = since(name).unwrap_or_else(|| panic!("{name} has no version"));
            assert!(since <= DRIVER_VERSION.0, "{name} came with {since}");
        }
    }
}
