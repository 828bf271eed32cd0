//! The C functions of libLLVM that this crate calls, as pointers looked up by name.
//!
//! Declared by hand rather than taken from a binding crate: a binding is tied to one LLVM release, while LLVM keeps
//! its C interface stable, so these few lines outlive many releases. Changes are detected when the
//! library is opened: the version, and that each name is there.

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

/// An object of LLVM's, known to us by address only.
pub(super) type Raw = *mut c_void;
/// LLVM's boolean: 0 is false (and, for most functions that return one, success).
pub(super) type Bool = c_int;
/// The callback that receives each diagnostic of a context.
pub(super) type DiagnosticHandler = unsafe extern "C" fn(info: Raw, data: *mut c_void);
/// The callback before LLVM ends the process over an error that it cannot report otherwise.
pub(super) type FatalHandler = unsafe extern "C" fn(reason: *const c_char);

macro_rules! functions {
    ($($name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// One pointer a function, under the function's own name.
        #[allow(non_snake_case, reason = "the names are LLVM's")]
        pub(super) struct Functions {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Functions {
            /// Looks every function up in `library`; the error is the name of the first that is not there.
            ///
            /// # Safety
            /// `library` must be a libLLVM of the major version that the declarations here were written for, and
            /// must stay loaded for as long as the result is used.
            pub(super) unsafe fn load(library: &libloading::Library) -> Result<Self, &'static str> {
                Ok(Self {
                    $($name: {
                        // SAFETY: the caller vouches for the library, and the type is that of LLVM's header.
                        let symbol = unsafe {
                            library.get::<unsafe extern "C" fn($($argument),*) $(-> $result)?>(stringify!($name))
                        };
                        *symbol.map_err(|_| stringify!($name))?
                    },)*
                })
            }
        }
    };
}

functions! {
    // The library itself.
    LLVMInstallFatalErrorHandler(FatalHandler);
    LLVMDisposeMessage(*mut c_char);
    LLVMGetErrorMessage(Raw) -> *mut c_char;
    LLVMDisposeErrorMessage(*mut c_char);

    // Contexts and their diagnostics.
    LLVMContextCreate() -> Raw;
    LLVMContextDispose(Raw);
    LLVMContextSetDiagnosticHandler(Raw, Option<DiagnosticHandler>, *mut c_void);
    LLVMGetDiagInfoDescription(Raw) -> *mut c_char;
    LLVMGetDiagInfoSeverity(Raw) -> c_int;

    // Memory buffers.
    LLVMCreateMemoryBufferWithMemoryRangeCopy(*const c_char, usize, *const c_char) -> Raw;
    LLVMGetBufferStart(Raw) -> *const c_char;
    LLVMGetBufferSize(Raw) -> usize;
    LLVMDisposeMemoryBuffer(Raw);

    // Modules.
    LLVMModuleCreateWithNameInContext(*const c_char, Raw) -> Raw;
    LLVMDisposeModule(Raw);
    LLVMCloneModule(Raw) -> Raw;
    LLVMParseBitcodeInContext2(Raw, Raw, *mut Raw) -> Bool;
    LLVMGetBitcodeModuleInContext2(Raw, Raw, *mut Raw) -> Bool;
    LLVMParseIRInContext(Raw, Raw, *mut Raw, *mut *mut c_char) -> Bool;
    LLVMLinkModules2(Raw, Raw) -> Bool;
    LLVMVerifyModule(Raw, c_int, *mut *mut c_char) -> Bool;
    LLVMPrintModuleToString(Raw) -> *mut c_char;
    LLVMWriteBitcodeToMemoryBuffer(Raw) -> Raw;
    LLVMGetTarget(Raw) -> *const c_char;
    LLVMSetTarget(Raw, *const c_char);
    LLVMGetDataLayoutStr(Raw) -> *const c_char;
    LLVMSetDataLayout(Raw, *const c_char);
    LLVMSetModuleDataLayout(Raw, Raw);
    LLVMAddNamedMetadataOperand(Raw, *const c_char, Raw);
    LLVMGetFirstFunction(Raw) -> Raw;
    LLVMGetNextFunction(Raw) -> Raw;
    LLVMGetNamedFunction(Raw, *const c_char) -> Raw;
    LLVMGetFirstGlobal(Raw) -> Raw;
    LLVMGetNextGlobal(Raw) -> Raw;
    LLVMGetNamedGlobal(Raw, *const c_char) -> Raw;
    LLVMGetFirstGlobalAlias(Raw) -> Raw;
    LLVMGetNextGlobalAlias(Raw) -> Raw;

    // Types.
    LLVMTypeOf(Raw) -> Raw;
    LLVMGetTypeKind(Raw) -> c_int;
    LLVMGetPointerAddressSpace(Raw) -> c_uint;
    LLVMInt8TypeInContext(Raw) -> Raw;
    LLVMInt32TypeInContext(Raw) -> Raw;
    LLVMIntTypeInContext(Raw, c_uint) -> Raw;
    LLVMFunctionType(Raw, *mut Raw, c_uint, Bool) -> Raw;
    LLVMPointerTypeInContext(Raw, c_uint) -> Raw;
    LLVMArrayType2(Raw, u64) -> Raw;
    LLVMABISizeOfType(Raw, Raw) -> c_ulonglong;
    LLVMGetModuleDataLayout(Raw) -> Raw;

    // Values of any kind.
    LLVMGetValueName2(Raw, *mut usize) -> *const c_char;
    LLVMSetValueName2(Raw, *const c_char, usize);
    LLVMReplaceAllUsesWith(Raw, Raw);
    LLVMGetFirstUse(Raw) -> Raw;
    LLVMGetNextUse(Raw) -> Raw;
    LLVMGetUser(Raw) -> Raw;
    LLVMGetNumOperands(Raw) -> c_int;
    LLVMGetOperand(Raw, c_uint) -> Raw;
    LLVMSetOperand(Raw, c_uint, Raw);
    LLVMIsAFunction(Raw) -> Raw;
    LLVMIsAInstruction(Raw) -> Raw;
    LLVMIsAConstantExpr(Raw) -> Raw;
    LLVMIsAGlobalVariable(Raw) -> Raw;
    LLVMIsAConstant(Raw) -> Raw;
    LLVMIsUndef(Raw) -> Bool;
    LLVMGetConstOpcode(Raw) -> c_int;
    LLVMIsConstantString(Raw) -> Bool;
    LLVMGetAsString(Raw, *mut usize) -> *const c_char;
    LLVMConstInt(Raw, c_ulonglong, Bool) -> Raw;
    LLVMGetUndef(Raw) -> Raw;
    LLVMConstAddrSpaceCast(Raw, Raw) -> Raw;
    LLVMGetGEPSourceElementType(Raw) -> Raw;
    LLVMConstGEP2(Raw, Raw, *mut Raw, c_uint) -> Raw;

    // Globals: functions and variables.
    LLVMIsDeclaration(Raw) -> Bool;
    LLVMGetLinkage(Raw) -> c_int;
    LLVMSetLinkage(Raw, c_int);
    LLVMSetVisibility(Raw, c_int);
    LLVMGetSection(Raw) -> *const c_char;
    LLVMGetAlignment(Raw) -> c_uint;
    LLVMSetAlignment(Raw, c_uint);
    LLVMGlobalGetValueType(Raw) -> Raw;
    LLVMAddGlobalInAddressSpace(Raw, Raw, *const c_char, c_uint) -> Raw;
    LLVMDeleteGlobal(Raw);
    LLVMGetInitializer(Raw) -> Raw;
    LLVMSetInitializer(Raw, Raw);
    LLVMIsGlobalConstant(Raw) -> Bool;
    LLVMSetGlobalConstant(Raw, Bool);
    LLVMSetExternallyInitialized(Raw, Bool);

    // Functions, their parameters and attributes.
    LLVMAddFunction(Raw, *const c_char, Raw) -> Raw;
    LLVMGetFunctionCallConv(Raw) -> c_uint;
    LLVMCountParams(Raw) -> c_uint;
    LLVMGetParam(Raw, c_uint) -> Raw;
    LLVMGetEnumAttributeKindForName(*const c_char, usize) -> c_uint;
    LLVMCreateEnumAttribute(Raw, c_uint, u64) -> Raw;
    LLVMCreateStringAttribute(Raw, *const c_char, c_uint, *const c_char, c_uint) -> Raw;
    LLVMAddAttributeAtIndex(Raw, c_uint, Raw);
    LLVMGetEnumAttributeAtIndex(Raw, c_uint, c_uint) -> Raw;
    LLVMGetEnumAttributeValue(Raw) -> u64;
    LLVMRemoveEnumAttributeAtIndex(Raw, c_uint, c_uint);
    LLVMGetStringAttributeAtIndex(Raw, c_uint, *const c_char, c_uint) -> Raw;
    LLVMRemoveStringAttributeAtIndex(Raw, c_uint, *const c_char, c_uint);

    // Basic blocks.
    LLVMGetFirstBasicBlock(Raw) -> Raw;
    LLVMGetNextBasicBlock(Raw) -> Raw;
    LLVMGetBasicBlockParent(Raw) -> Raw;
    LLVMGetBasicBlockTerminator(Raw) -> Raw;
    LLVMGetNumSuccessors(Raw) -> c_uint;
    LLVMGetSuccessor(Raw, c_uint) -> Raw;

    // Instructions.
    LLVMGetInstructionParent(Raw) -> Raw;
    LLVMGetFirstInstruction(Raw) -> Raw;
    LLVMGetNextInstruction(Raw) -> Raw;
    LLVMGetInstructionOpcode(Raw) -> c_int;
    LLVMCountIncoming(Raw) -> c_uint;
    LLVMGetIncomingValue(Raw, c_uint) -> Raw;
    LLVMGetIncomingBlock(Raw, c_uint) -> Raw;
    LLVMGetOrdering(Raw) -> c_int;
    LLVMGetVolatile(Raw) -> Bool;
    LLVMGetCalledValue(Raw) -> Raw;
    LLVMAddCallSiteAttribute(Raw, c_uint, Raw);
    LLVMIsAInlineAsm(Raw) -> Raw;
    LLVMGetInlineAsmAsmString(Raw, *mut usize) -> *const c_char;
    LLVMGetInlineAsmHasSideEffects(Raw) -> Bool;
    LLVMGetInlineAsmConstraintString(Raw, *mut usize) -> *const c_char;
    LLVMGetInlineAsmFunctionType(Raw) -> Raw;
    LLVMGetInlineAsmNeedsAlignedStack(Raw) -> Bool;
    LLVMGetInlineAsmDialect(Raw) -> c_int;
    LLVMGetInlineAsmCanUnwind(Raw) -> Bool;
    LLVMGetInlineAsm(Raw, *const c_char, usize, *const c_char, usize, Bool, Bool, c_int, Bool) -> Raw;
    LLVMGetNumArgOperands(Raw) -> c_uint;
    LLVMCanValueUseFastMathFlags(Raw) -> Bool;
    LLVMGetFastMathFlags(Raw) -> c_uint;
    LLVMSetFastMathFlags(Raw, c_uint);
    LLVMInstructionGetDebugLoc(Raw) -> Raw;
    LLVMInstructionSetDebugLoc(Raw, Raw);
    LLVMDIBuilderCreateDebugLocation(Raw, c_uint, c_uint, Raw, Raw) -> Raw;
    LLVMDILocationGetInlinedAt(Raw) -> Raw;
    LLVMDILocationGetScope(Raw) -> Raw;
    LLVMDILocationGetLine(Raw) -> c_uint;
    LLVMDILocationGetColumn(Raw) -> c_uint;
    LLVMDIScopeGetFile(Raw) -> Raw;
    LLVMDIFileGetFilename(Raw, *mut c_uint) -> *const c_char;
    LLVMDIFileGetDirectory(Raw, *mut c_uint) -> *const c_char;

    LLVMInstructionEraseFromParent(Raw);

    // New instructions.
    LLVMCreateBuilderInContext(Raw) -> Raw;
    LLVMPositionBuilderBefore(Raw, Raw);
    LLVMDisposeBuilder(Raw);
    LLVMBuildLoad2(Raw, Raw, Raw, *const c_char) -> Raw;
    LLVMBuildStore(Raw, Raw, Raw) -> Raw;
    LLVMBuildICmp(Raw, c_int, Raw, Raw, *const c_char) -> Raw;
    LLVMBuildSelect(Raw, Raw, Raw, Raw, *const c_char) -> Raw;
    LLVMBuildInsertValue(Raw, Raw, Raw, c_uint, *const c_char) -> Raw;
    LLVMBuildCall2(Raw, Raw, Raw, *mut Raw, c_uint, *const c_char) -> Raw;
    LLVMBuildFCmp(Raw, c_int, Raw, Raw, *const c_char) -> Raw;
    LLVMBuildTrunc(Raw, Raw, Raw, *const c_char) -> Raw;
    LLVMBuildAddrSpaceCast(Raw, Raw, Raw, *const c_char) -> Raw;
    LLVMBuildPtrToInt(Raw, Raw, Raw, *const c_char) -> Raw;
    LLVMBuildIntToPtr(Raw, Raw, Raw, *const c_char) -> Raw;

    // Metadata.
    LLVMValueAsMetadata(Raw) -> Raw;
    LLVMMDStringInContext2(Raw, *const c_char, usize) -> Raw;
    LLVMMDNodeInContext2(Raw, *mut Raw, usize) -> Raw;
    LLVMMetadataAsValue(Raw, Raw) -> Raw;
    LLVMGetMDKindIDInContext(Raw, *const c_char, c_uint) -> c_uint;
    LLVMGetMetadata(Raw, c_uint) -> Raw;
    LLVMSetMetadata(Raw, c_uint, Raw);
    LLVMConstIntGetZExtValue(Raw) -> c_ulonglong;
    LLVMGetMetadataKind(Raw) -> c_uint;
    LLVMGetMDNodeNumOperands(Raw) -> c_uint;
    LLVMGetMDNodeOperands(Raw, *mut Raw);
    LLVMGetMDString(Raw, *mut c_uint) -> *const c_char;

    // The NVPTX target. It has no assembly parser, so there is no function to initialise one: the text of
    // `asm!` reaches the PTX unread.
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    LLVMGetTargetFromTriple(*const c_char, *mut Raw, *mut *mut c_char) -> Bool;
    LLVMCreateTargetMachine(Raw, *const c_char, *const c_char, *const c_char, c_int, c_int, c_int) -> Raw;
    LLVMDisposeTargetMachine(Raw);
    LLVMCreateTargetDataLayout(Raw) -> Raw;
    LLVMDisposeTargetData(Raw);
    LLVMTargetMachineEmitToMemoryBuffer(Raw, Raw, c_int, *mut *mut c_char, *mut Raw) -> Bool;

    // Passes.
    LLVMCreatePassBuilderOptions() -> Raw;
    LLVMDisposePassBuilderOptions(Raw);
    LLVMRunPasses(Raw, *const c_char, Raw, Raw) -> Raw;
    LLVMRunPassesOnFunction(Raw, *const c_char, Raw, Raw) -> Raw;
}
