//! The result codes of the simulated driver, by the driver API's names.

use crate::Code;

/// The result of an entry point; its caller sees the code.
pub(super) type Outcome<T = ()> = Result<T, Code>;

pub(super) const INVALID_VALUE: Code = Code(1);
pub(super) const OUT_OF_MEMORY: Code = Code(2);
pub(super) const INVALID_DEVICE: Code = Code(101);
pub(super) const INVALID_IMAGE: Code = Code(200);
pub(super) const INVALID_CONTEXT: Code = Code(201);
pub(super) const NO_BINARY_FOR_GPU: Code = Code(209);
pub(super) const UNSUPPORTED_LIMIT: Code = Code(215);
pub(super) const PEER_ACCESS_UNSUPPORTED: Code = Code(217);
pub(super) const UNSUPPORTED_EXEC_AFFINITY: Code = Code(224);
pub(super) const FILE_NOT_FOUND: Code = Code(301);
pub(super) const OPERATING_SYSTEM: Code = Code(304);
pub(super) const INVALID_HANDLE: Code = Code(400);
pub(super) const NOT_FOUND: Code = Code(500);
pub(super) const ILLEGAL_ADDRESS: Code = Code(700);
pub(super) const LAUNCH_OUT_OF_RESOURCES: Code = Code(701);
pub(super) const LAUNCH_TIMEOUT: Code = Code(702);
pub(super) const PEER_ACCESS_ALREADY_ENABLED: Code = Code(704);
pub(super) const PEER_ACCESS_NOT_ENABLED: Code = Code(705);
pub(super) const CONTEXT_IS_DESTROYED: Code = Code(709);
pub(super) const ASSERT: Code = Code(710);
pub(super) const HOST_MEMORY_ALREADY_REGISTERED: Code = Code(712);
pub(super) const HOST_MEMORY_NOT_REGISTERED: Code = Code(713);
pub(super) const HARDWARE_STACK_ERROR: Code = Code(714);
pub(super) const ILLEGAL_INSTRUCTION: Code = Code(715);
pub(super) const MISALIGNED_ADDRESS: Code = Code(716);
pub(super) const LAUNCH_FAILED: Code = Code(719);
pub(super) const COOPERATIVE_LAUNCH_TOO_LARGE: Code = Code(720);
pub(super) const STREAM_CAPTURE_UNSUPPORTED: Code = Code(900);
pub(super) const STREAM_CAPTURE_INVALIDATED: Code = Code(901);
pub(super) const STREAM_CAPTURE_MERGE: Code = Code(902);
pub(super) const STREAM_CAPTURE_UNMATCHED: Code = Code(903);
pub(super) const STREAM_CAPTURE_UNJOINED: Code = Code(904);
pub(super) const STREAM_CAPTURE_ISOLATION: Code = Code(905);
pub(super) const STREAM_CAPTURE_IMPLICIT: Code = Code(906);
pub(super) const CAPTURED_EVENT: Code = Code(907);
pub(super) const STREAM_CAPTURE_WRONG_THREAD: Code = Code(908);
pub(super) const GRAPH_EXEC_UPDATE_FAILURE: Code = Code(910);
pub(super) const INVALID_CLUSTER_SIZE: Code = Code(912);
pub(super) const UNKNOWN: Code = Code(999);
