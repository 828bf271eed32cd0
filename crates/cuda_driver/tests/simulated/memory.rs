//! Memory on the simulated driver: allocating, copying, filling, what addresses are, and every wrong use's code.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

use cuda_driver::ext;
use cuda_driver::ext::raw;
use cuda_driver::simulated::{read_in_place, write_in_place};
use cust::memory::{
    CopyDestination, DeviceBuffer, DevicePointer, LockedBuffer, UnifiedBuffer, cuda_free, cuda_malloc,
};
use cust_raw as sys;

use crate::common::{OwnContext, allocate, bind, gives, ok};

const INVALID_VALUE: c_int = 1;
const OUT_OF_MEMORY: c_int = 2;

#[test]
fn buffers_of_cust_keep_what_is_copied_to_them() {
    let _context = OwnContext::new();
    let host: Vec<u32> = (0..1000).collect();
    let mut buffer = DeviceBuffer::from_slice(&host).expect("a buffer");
    assert_eq!(buffer.as_host_vec().expect("a copy"), host);
    let mut part = vec![0; 700];
    buffer.index(300..).copy_to(&mut part).expect("a copy");
    assert_eq!(part, host[300..]);
    assert_eq!(buffer.index(..300).as_host_vec().expect("a copy"), host[..300]);
    buffer.set_32(0xdead_beef).expect("a fill");
    assert_eq!(buffer.as_host_vec().expect("a copy"), vec![0xdead_beef; 1000]);
    buffer.set_16(0x1234).expect("a fill");
    assert_eq!(buffer.as_host_vec().expect("a copy"), vec![0x1234_1234; 1000]);
    buffer.set_8(0xab).expect("a fill");
    assert_eq!(buffer.as_host_vec().expect("a copy"), vec![0xabab_abab; 1000]);
    let zeros = DeviceBuffer::<u64>::zeroed(77).expect("a buffer");
    assert_eq!(zeros.as_host_vec().expect("a copy"), vec![0; 77]);
    let narrow = DeviceBuffer::<u32>::zeroed(500).expect("a buffer");
    buffer.index(..500).copy_from(&*narrow).expect("a copy between buffers");
    assert_eq!(buffer.as_host_vec().expect("a copy")[499..501], [0, 0xabab_abab]);
}

#[test]
fn device_memory_is_lent_where_it_lies() {
    let _context = OwnContext::new();
    let buffer = DeviceBuffer::from_slice(&[1_u32, 2, 3]).expect("a buffer");
    let address = buffer.as_device_ptr().as_raw();
    // SAFETY: nothing else uses the buffer.
    let read = |address, bytes| unsafe { read_in_place(address, bytes, |bytes| bytes.to_vec()) };
    // SAFETY: as above.
    let fill = |address, bytes| unsafe { write_in_place(address, bytes, |bytes| bytes.fill(0xab)) };
    assert_eq!(read(address + 4, 8), Some(vec![2, 0, 0, 0, 3, 0, 0, 0]));
    assert_eq!(fill(address + 4, 4), Some(()));
    assert_eq!(buffer.as_host_vec().expect("a copy"), [1, 0xabab_abab, 3]);
    assert_eq!((read(address + 4, 9), fill(address + 4, 9)), (None, None), "longer than the buffer");
    drop(buffer);
    assert_eq!((read(address, 4), fill(address, 4)), (None, None), "freed");
}

#[test]
fn pinned_and_unified_memory_are_the_hosts_too() {
    let _context = OwnContext::new();
    let mut locked = LockedBuffer::new(&5_u64, 64).expect("memory");
    locked[63] = 6;
    let mut buffer = DeviceBuffer::from_slice(&locked).expect("a buffer");
    assert_eq!(buffer.as_host_vec().expect("a copy")[62..], [5, 6]);
    let mut unified = UnifiedBuffer::new(&9_u64, 64).expect("memory");
    unified[1] = 10;
    buffer.copy_from(&unified[..]).expect("a copy");
    assert_eq!(buffer.as_host_vec().expect("a copy")[..3], [9, 10, 9]);
    let address = unified.as_unified_ptr().as_raw() as u64;
    assert_eq!(ext::pointer_is_managed(address), Ok(true));
    assert_eq!(ext::pointer_memory_type(locked.as_ptr() as u64), Ok(ext::MemoryType::Host));
    assert_eq!(ext::pointer_memory_type(buffer.as_device_ptr().as_raw()), Ok(ext::MemoryType::Device));
    let local = 0;
    assert_eq!(
        ext::pointer_is_managed(&raw const local as u64).expect_err("a local variable").code.0,
        INVALID_VALUE
    );
}

#[test]
fn registered_memory_is_the_programs_own() {
    let _context = OwnContext::new();
    let mut host = vec![3_u32; 4096];
    let (address, bytes) = (host.as_mut_ptr().cast::<c_void>(), 4 * host.len());
    // SAFETY: the memory lives until it is unregistered.
    unsafe {
        ok(sys::cuMemHostRegister_v2(address, bytes, 2));
        gives(sys::cuMemHostRegister_v2(address, bytes, 0), 712);
        let mut device = 0;
        ok(sys::cuMemHostGetDevicePointer_v2(&raw mut device, address.add(16), 0));
        assert_eq!(device, address as u64 + 16);
        gives(sys::cuMemHostGetDevicePointer_v2(&raw mut device, address, 1), INVALID_VALUE);
        let mut flags = 0;
        ok(sys::cuMemHostGetFlags(&raw mut flags, address));
        assert_eq!(flags, 2);
        gives(sys::cuMemFreeHost(address), INVALID_VALUE);
        ok(sys::cuMemHostUnregister(address));
        gives(sys::cuMemHostUnregister(address), 713);
        gives(sys::cuMemHostGetFlags(&raw mut flags, address), INVALID_VALUE);
        gives(sys::cuMemHostRegister_v2(address, 0, 0), INVALID_VALUE);
        gives(sys::cuMemHostRegister_v2(ptr::null_mut(), 64, 0), INVALID_VALUE);
        gives(sys::cuMemHostRegister_v2(address, bytes, 0x100), INVALID_VALUE);
    }
    assert_eq!(host[4095], 3);
}

#[test]
fn allocations_have_their_limits() {
    let simulated = bind();
    let _context = OwnContext::new();
    let mut address = 0;
    let mut host = ptr::null_mut();
    let (mut free, mut total) = (0, 0);
    // SAFETY: the pointers can be written.
    unsafe {
        gives(sys::cuMemAlloc_v2(&raw mut address, 0), INVALID_VALUE);
        gives(sys::cuMemAlloc_v2(ptr::null_mut(), 16), INVALID_VALUE);
        gives(sys::cuMemAlloc_v2(&raw mut address, 1 << 50), OUT_OF_MEMORY);
        ok(sys::cuMemAllocHost_v2(&raw mut host, 0));
        gives(sys::cuMemHostAlloc(&raw mut host, 16, 0x10), INVALID_VALUE);
        gives(sys::cuMemAllocManaged(&raw mut address, 0, 1), INVALID_VALUE);
        gives(sys::cuMemAllocManaged(&raw mut address, 16, 0), INVALID_VALUE);
        gives(sys::cuMemAllocManaged(&raw mut address, 16, 4), INVALID_VALUE);
        ok(sys::cuMemGetInfo_v2(&raw mut free, &raw mut total));
        assert!(free <= total && total > 0);
        let mut pitch = 0;
        gives(sys::cuMemAllocPitch_v2(&raw mut address, &raw mut pitch, 100, 10, 3), INVALID_VALUE);
        gives(sys::cuMemAllocPitch_v2(&raw mut address, &raw mut pitch, 0, 10, 4), INVALID_VALUE);
        ok(sys::cuMemAllocPitch_v2(&raw mut address, &raw mut pitch, 100, 10, 4));
        assert_eq!((pitch, address % 256), (512, 0));
        let (mut base, mut bytes) = (0, 0);
        ok(sys::cuMemGetAddressRange_v2(&raw mut base, &raw mut bytes, address + 700));
        assert_eq!((base, bytes), (address, 5120));
        ok(sys::cuMemGetAddressRange_v2(ptr::null_mut(), &raw mut bytes, address));
        ok(sys::cuMemFree_v2(address));
        gives(sys::cuMemGetAddressRange_v2(&raw mut base, &raw mut bytes, address), 500);
    }
    if simulated {
        assert_eq!(total, 1 << 30);
        let most = allocate(1 << 29);
        let mut left = 0;
        // SAFETY: the pointers can be written.
        unsafe {
            ok(sys::cuMemGetInfo_v2(&raw mut left, &raw mut total));
            // Other tests of this program allocate too.
            assert!(left <= total - (1 << 29));
            gives(sys::cuMemAlloc_v2(&raw mut address, (1 << 29) + 1), OUT_OF_MEMORY);
            ok(sys::cuMemFree_v2(most));
        }
    }
}

#[test]
fn freeing_is_for_what_is_allocated() {
    let _context = OwnContext::new();
    let address = allocate(1000);
    let mut host = ptr::null_mut();
    let mut managed = 0;
    // SAFETY: the pointers can be written, and the driver checks what it is to free.
    unsafe {
        ok(sys::cuMemHostAlloc(&raw mut host, 64, 0));
        ok(sys::cuMemAllocManaged(&raw mut managed, 64, 1));
        gives(sys::cuMemFree_v2(address + 4), INVALID_VALUE);
        gives(sys::cuMemFree_v2(0x10), INVALID_VALUE);
        ok(sys::cuMemFree_v2(0));
        ok(sys::cuMemFree_v2(address));
        gives(sys::cuMemFree_v2(address), INVALID_VALUE);
        ok(sys::cuMemFree_v2(managed));
        gives(sys::cuMemFreeHost(host.byte_add(1)), INVALID_VALUE);
        ok(sys::cuMemFreeHost(host));
    }
    // SAFETY: the memory is freed once.
    unsafe {
        let pointer: DevicePointer<u64> = cuda_malloc(10).expect("memory");
        cuda_free(pointer).expect("freed");
    }
}

#[test]
fn copies_stay_within_allocations() {
    let _context = OwnContext::new();
    let (device, other) = (allocate(64), allocate(64));
    let mut host = [7_u8; 128];
    // SAFETY: the host's array has as many bytes as are copied; the driver checks the device's.
    unsafe {
        let address = host.as_mut_ptr().cast::<c_void>();
        ok(sys::cuMemcpyHtoD_v2(device, address, 64));
        gives(sys::cuMemcpyHtoD_v2(device, address, 65), INVALID_VALUE);
        gives(sys::cuMemcpyHtoD_v2(device + 1, address, 64), INVALID_VALUE);
        gives(sys::cuMemcpyDtoH_v2(address, device, 65), INVALID_VALUE);
        gives(sys::cuMemcpyDtoD_v2(other, device, 65), INVALID_VALUE);
        gives(sys::cuMemcpyDtoD_v2(other, 0x1000, 4), INVALID_VALUE);
        gives(sys::cuMemcpyHtoD_v2(device, ptr::null(), 4), INVALID_VALUE);
        gives(sys::cuMemcpyHtoD_v2(0, address, 4), INVALID_VALUE);
        ok(sys::cuMemcpyHtoD_v2(device, address, 0));
        ok(sys::cuMemsetD8_v2(device + 8, 1, 8));
        ok(sys::cuMemcpyDtoD_v2(other, device, 64));
        ok(sys::cuMemcpyDtoH_v2(address.add(64), other, 64));
        assert_eq!(host[72..80], [1; 8]);
        assert_eq!((host[71], host[80]), (7, 7));
        // By the address alone, both ways.
        host[0] = 9;
        ok(sys::cuMemcpy(other, host.as_ptr() as u64, 4));
        ok(sys::cuMemcpy(host.as_mut_ptr() as u64 + 100, other, 4));
        assert_eq!(host[100..104], [9, 7, 7, 7]);
        ok(sys::cuMemcpyAsync(device, other, 4, ptr::null_mut()));
        ok(sys::cuMemcpyDtoHAsync_v2(host.as_mut_ptr().cast(), device, 4, ptr::null_mut()));
        ok(sys::cuStreamSynchronize(ptr::null_mut()));
        assert_eq!(host[0], 9);
        ok(sys::cuMemFree_v2(device));
        gives(sys::cuMemcpyDtoH_v2(host.as_mut_ptr().cast(), device, 4), INVALID_VALUE);
        ok(sys::cuMemFree_v2(other));
    }
}

#[test]
fn fills_stay_within_allocations_and_aligned() {
    let _context = OwnContext::new();
    let device = allocate(64);
    // SAFETY: the driver checks the addresses.
    unsafe {
        gives(sys::cuMemsetD32_v2(device, 1, 17), INVALID_VALUE);
        gives(sys::cuMemsetD32_v2(device + 2, 1, 1), INVALID_VALUE);
        gives(sys::cuMemsetD16_v2(device + 1, 1, 1), INVALID_VALUE);
        gives(sys::cuMemsetD8_v2(0, 1, 1), INVALID_VALUE);
        ok(sys::cuMemsetD8_v2(device, 1, 0));
        ok(sys::cuMemsetD32_v2(device, 0x0403_0201, 16));
        // Two rows of three bytes in rows of 16.
        ok(sys::cuMemsetD2D8_v2(device + 16, 16, 0xff, 3, 2));
        ok(sys::cuMemsetD2D16_v2(device + 48, 8, 0xaaaa, 1, 2));
        ok(sys::cuMemsetD2D32_v2(device, 32, 5, 1, 2));
        gives(sys::cuMemsetD2D32_v2(device, 2, 5, 1, 2), INVALID_VALUE);
        let mut host = [0_u8; 64];
        ok(sys::cuMemcpyDtoH_v2(host.as_mut_ptr().cast(), device, 64));
        assert_eq!(host[..8], [5, 0, 0, 0, 1, 2, 3, 4]);
        assert_eq!(host[16..20], [0xff, 0xff, 0xff, 4]);
        assert_eq!(host[32..37], [5, 0, 0, 0, 1]);
        assert_eq!(host[48..52], [0xaa, 0xaa, 3, 4]);
        assert_eq!(host[56..60], [0xaa, 0xaa, 3, 4]);
        ok(sys::cuMemFree_v2(device));
    }
}

fn rows(host: *mut u8, device: u64, to_device: bool) -> sys::CUDA_MEMCPY2D {
    use sys::CUmemorytype::{CU_MEMORYTYPE_DEVICE as DEVICE, CU_MEMORYTYPE_HOST as HOST};
    let (from, to) = if to_device { (HOST, DEVICE) } else { (DEVICE, HOST) };
    let (from_pitch, to_pitch) = if to_device { (8, 32) } else { (32, 8) };
    sys::CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: from,
        srcHost: host.cast(),
        srcDevice: device,
        srcArray: ptr::null_mut(),
        srcPitch: from_pitch,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: to,
        dstHost: host.cast(),
        dstDevice: device,
        dstArray: ptr::null_mut(),
        dstPitch: to_pitch,
        WidthInBytes: 8,
        Height: 4,
    }
}

#[test]
fn rows_and_layers_are_copied_by_their_pitches() {
    let _context = OwnContext::new();
    let device = allocate(4 * 32);
    let mut host: [u8; 32] = std::array::from_fn(|index| index as u8);
    // SAFETY: the arrays are as large as the rows say; the driver checks the device's.
    unsafe {
        ok(sys::cuMemsetD8_v2(device, 0xee, 128));
        let mut there = rows(host.as_mut_ptr(), device, true);
        ok(sys::cuMemcpy2D_v2(&raw const there));
        let mut all = [0_u8; 128];
        ok(sys::cuMemcpyDtoH_v2(all.as_mut_ptr().cast(), device, 128));
        assert_eq!(all[32..42], [8, 9, 10, 11, 12, 13, 14, 15, 0xee, 0xee]);
        // From the second byte of the third row.
        host = [0; 32];
        let mut back = rows(host.as_mut_ptr(), device, false);
        (back.srcXInBytes, back.srcY, back.WidthInBytes, back.Height) = (1, 2, 3, 2);
        ok(sys::cuMemcpy2DAsync_v2(&raw const back, ptr::null_mut()));
        ok(sys::cuCtxSynchronize());
        assert_eq!(host[..12], [17, 18, 19, 0, 0, 0, 0, 0, 25, 26, 27, 0]);

        there.Height = 5;
        gives(sys::cuMemcpy2D_v2(&raw const there), INVALID_VALUE);
        there = rows(host.as_mut_ptr(), device, true);
        there.dstPitch = 7;
        gives(sys::cuMemcpy2D_v2(&raw const there), INVALID_VALUE);
        gives(sys::cuMemcpy2D_v2(ptr::null()), INVALID_VALUE);

        // Two layers of two rows of four bytes, out of rows of 16 and layers of 4 rows.
        let mut solid = solid();
        solid.srcDevice = device;
        solid.srcPitch = 16;
        solid.srcHeight = 4;
        solid.dstHost = host.as_mut_ptr().cast();
        (solid.WidthInBytes, solid.Height, solid.Depth) = (4, 2, 2);
        let bytes: Vec<u8> = (0..128).collect();
        ok(sys::cuMemcpyHtoD_v2(device, bytes.as_ptr().cast(), 128));
        ok(sys::cuMemcpy3D_v2(&raw const solid));
        assert_eq!(host[..16], [0, 1, 2, 3, 16, 17, 18, 19, 64, 65, 66, 67, 80, 81, 82, 83]);
        ok(sys::cuMemFree_v2(device));
    }
}

/// From device to host, everything but the kinds 0.
fn solid() -> sys::CUDA_MEMCPY3D {
    sys::CUDA_MEMCPY3D {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
        srcHost: ptr::null(),
        srcDevice: 0,
        srcArray: ptr::null_mut(),
        reserved0: ptr::null_mut(),
        srcPitch: 0,
        srcHeight: 0,
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_HOST,
        dstHost: ptr::null_mut(),
        dstDevice: 0,
        dstArray: ptr::null_mut(),
        reserved1: ptr::null_mut(),
        dstPitch: 0,
        dstHeight: 0,
        WidthInBytes: 0,
        Height: 0,
        Depth: 0,
    }
}

#[test]
fn addresses_say_what_they_are() {
    const CONTEXT: c_int = 1;
    const DEVICE_POINTER: c_int = 3;
    const HOST_POINTER: c_int = 4;
    const IS_MANAGED: c_int = 8;
    const ORDINAL: c_int = 9;
    const START: c_int = 11;
    const BYTES: c_int = 12;
    let context = OwnContext::new();
    let device = allocate(100);
    let ask = |attribute, address| {
        let mut value = 0_u64;
        // SAFETY: no attribute asked for is larger than 8 bytes.
        let code = unsafe { raw::cuPointerGetAttribute((&raw mut value).cast(), attribute, address) };
        (code.0, value)
    };
    assert_eq!(ask(CONTEXT, device), (0, context.0 as u64));
    assert_eq!(ask(DEVICE_POINTER, device + 5), (0, device + 5));
    assert_eq!(ask(HOST_POINTER, device).0, INVALID_VALUE);
    assert_eq!(ask(IS_MANAGED, device), (0, 0));
    assert_eq!(ask(ORDINAL, device), (0, 0));
    assert_eq!(ask(START, device + 5), (0, device));
    assert_eq!(ask(BYTES, device + 5), (0, 100));
    assert_eq!(ask(BYTES, 0x1234).0, INVALID_VALUE);
    assert_eq!(ask(999, device).0, INVALID_VALUE);
    let mut host = ptr::null_mut();
    // SAFETY: the pointers can be written, and lists have as many elements as is said.
    unsafe {
        ok(sys::cuMemHostAlloc(&raw mut host, 64, 0));
        let address = host.byte_add(8) as u64;
        assert_eq!(ask(HOST_POINTER, address), (0, address));
        assert_eq!(ask(DEVICE_POINTER, address), (0, address));
        let mut numbers = [
            sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE,
            sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
        ];
        let (mut bytes, mut kind) = (9_u64, 9_u32);
        let mut data = [(&raw mut bytes).cast::<c_void>(), (&raw mut kind).cast::<c_void>()];
        ok(sys::cuPointerGetAttributes(2, numbers.as_mut_ptr(), data.as_mut_ptr(), address));
        assert_eq!((bytes, kind), (64, 1));
        // What is nobody's has no kind, which is no error here, and no size: what was there stays.
        ok(sys::cuPointerGetAttributes(2, numbers.as_mut_ptr(), data.as_mut_ptr(), 0x1234));
        assert_eq!((bytes, kind), (64, 0));
        gives(
            sys::cuPointerGetAttributes(0, numbers.as_mut_ptr(), data.as_mut_ptr(), address),
            INVALID_VALUE,
        );
        ok(sys::cuMemFreeHost(host));
        ok(sys::cuMemFree_v2(device));
    }
}

#[test]
fn managed_memory_keeps_its_advice() {
    const HOST: c_int = -1;
    const NONE: c_int = -2;
    let simulated = bind();
    let _context = OwnContext::new();
    let mut address = 0;
    let bytes = 8 << 20;
    let ask = |number: c_int, address: u64, bytes: usize| {
        let mut value: c_int = 99;
        // SAFETY: the attribute is one integer.
        let code = unsafe { raw::cuMemRangeGetAttribute((&raw mut value).cast(), 4, number, address, bytes) };
        (code.0, value)
    };
    // SAFETY: the pointer can be written, and the driver checks ranges.
    unsafe {
        ok(sys::cuMemAllocManaged(&raw mut address, bytes, 1));
        assert_eq!(
            [ask(1, address, bytes), ask(2, address, bytes), ask(4, address, bytes)],
            [(0, 0), (0, NONE), (0, NONE)]
        );
        ext::advise(address, bytes, ext::Advice::ReadMostly, ext::Location::Device(0)).expect("advice");
        assert_eq!(ask(1, address, bytes), (0, 1));
        ext::advise(address, bytes / 2, ext::Advice::NotReadMostly, ext::Location::Device(0))
            .expect("advice");
        assert_eq!([ask(1, address, bytes), ask(1, address + (4 << 20), bytes / 2)], [(0, 0), (0, 1)]);
        ext::advise(address, bytes, ext::Advice::PreferredLocation, ext::Location::Host).expect("advice");
        assert_eq!(ask(2, address, bytes), (0, HOST));
        ext::advise(address, bytes / 2, ext::Advice::PreferredLocation, ext::Location::Device(0))
            .expect("advice");
        assert_eq!([ask(2, address, bytes), ask(2, address, bytes / 2)], [(0, NONE), (0, 0)]);
        ext::advise(address, bytes, ext::Advice::AccessedBy, ext::Location::Device(0)).expect("advice");
        ext::advise(address, bytes / 2, ext::Advice::AccessedBy, ext::Location::Host).expect("advice");
        let mut places = [99; 3];
        ok(raw::cuMemRangeGetAttribute(places.as_mut_ptr().cast(), 12, 3, address, bytes));
        assert_eq!(places, [0, NONE, NONE]);
        ok(raw::cuMemRangeGetAttribute(places.as_mut_ptr().cast(), 12, 3, address, bytes / 2));
        places.sort_unstable();
        assert_eq!(places, [NONE, HOST, 0]);
        ext::prefetch(address, bytes / 2, ext::Location::Device(0), ptr::null_mut()).expect("a prefetch");
        ok(sys::cuCtxSynchronize());
        assert_eq!([ask(4, address, bytes / 2), ask(4, address, bytes)], [(0, 0), (0, NONE)]);

        let no_device = ext::advise(address, bytes, ext::Advice::AccessedBy, ext::Location::Device(77));
        assert_eq!(no_device.expect_err("there is no device 77").code.0, INVALID_VALUE);
        let beyond = ext::advise(address, bytes + 1, ext::Advice::ReadMostly, ext::Location::Host);
        assert_eq!(beyond.expect_err("it is not so long").code.0, INVALID_VALUE);
        assert_eq!(ask(99, address, bytes).0, INVALID_VALUE);
        let mut wide = 0_u64;
        gives(raw::cuMemRangeGetAttribute((&raw mut wide).cast(), 8, 1, address, bytes), INVALID_VALUE);
        if simulated {
            let device = allocate(64);
            let unmanaged = ext::advise(device, 64, ext::Advice::ReadMostly, ext::Location::Host);
            assert_eq!(unmanaged.expect_err("it is device memory").code.0, INVALID_VALUE);
            ok(sys::cuMemFree_v2(device));
        }
        ok(sys::cuMemFree_v2(address));
    }
}

#[test]
fn pools_lend_memory_in_a_streams_order() {
    let _context = OwnContext::new();
    let (mut pool, mut address) = (ptr::null_mut(), 0);
    let mut used = 99_u64;
    const USED: sys::CUmemPool_attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT;
    const USED_HIGH: sys::CUmemPool_attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH;
    const THRESHOLD: sys::CUmemPool_attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    let mut properties = [0_u64; 11];
    // Pinned, no handles; device 0.
    properties[0] = 1;
    properties[1] = 1;
    // SAFETY: the pointers can be written, and the description has the layout of the driver API's.
    unsafe {
        ok(sys::cuMemPoolCreate(&raw mut pool, properties.as_ptr().cast()));
        ok(sys::cuMemAllocFromPoolAsync(&raw mut address, 1 << 20, pool, ptr::null_mut()));
        ok(sys::cuMemsetD32Async(address, 5, 1 << 18, ptr::null_mut()));
        let mut last = 0_u32;
        ok(sys::cuMemcpyDtoH_v2((&raw mut last).cast(), address + (1 << 20) - 4, 4));
        assert_eq!(last, 5);
        ok(sys::cuMemPoolGetAttribute(pool, USED, (&raw mut used).cast()));
        assert_eq!(used, 1 << 20);
        ok(sys::cuMemFreeAsync(address, ptr::null_mut()));
        ok(sys::cuStreamSynchronize(ptr::null_mut()));
        ok(sys::cuMemPoolGetAttribute(pool, USED, (&raw mut used).cast()));
        assert_eq!(used, 0);
        ok(sys::cuMemPoolGetAttribute(pool, USED_HIGH, (&raw mut used).cast()));
        assert_eq!(used, 1 << 20);
        let mut threshold = u64::MAX;
        ok(sys::cuMemPoolSetAttribute(pool, THRESHOLD, (&raw mut threshold).cast()));
        threshold = 0;
        ok(sys::cuMemPoolGetAttribute(pool, THRESHOLD, (&raw mut threshold).cast()));
        assert_eq!(threshold, u64::MAX);
        ok(sys::cuMemPoolDestroy(pool));
        let mut default = ptr::null_mut();
        ok(sys::cuDeviceGetDefaultMemPool(&raw mut default, 0));
        ok(sys::cuDeviceGetMemPool(&raw mut pool, 0));
        assert_eq!(pool, default);
        ok(sys::cuMemAllocAsync(&raw mut address, 64, ptr::null_mut()));
        ok(sys::cuMemFreeAsync(address, ptr::null_mut()));
        ok(sys::cuMemAllocAsync(&raw mut address, 0, ptr::null_mut()));
    }
}

#[test]
fn flags_of_pinned_memory_are_told() {
    let _context = OwnContext::new();
    let mut host = ptr::null_mut();
    let mut flags: c_uint = 99;
    // SAFETY: the pointers can be written.
    unsafe {
        for asked in [0, 1, 2, 3, 4] {
            ok(sys::cuMemHostAlloc(&raw mut host, 64, asked));
            ok(sys::cuMemHostGetFlags(&raw mut flags, host));
            assert_eq!(flags, asked | 2, "asked for {asked}");
            ok(sys::cuMemFreeHost(host));
        }
        ok(sys::cuMemAllocHost_v2(&raw mut host, 64));
        ok(sys::cuMemHostGetFlags(&raw mut flags, host.byte_add(3)));
        assert_eq!(flags, 2);
        ok(sys::cuMemFreeHost(host));
    }
}

#[test]
fn batches_of_copies_and_pools_by_place() {
    /// `CUmemcpyAttributes`: the order in which sources are read, two places, flags.
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Attributes {
        order: c_int,
        places: [c_int; 4],
        flags: u32,
    }
    unsafe extern "C" {
        fn cuMemcpyBatchAsync(
            to: *const u64,
            from: *const u64,
            sizes: *const usize,
            count: usize,
            attributes: *const Attributes,
            firsts: *const usize,
            runs: usize,
            failed: *mut usize,
            stream: sys::CUstream,
        ) -> sys::CUresult;
        fn cuMemGetMemPool(
            out: *mut sys::CUmemoryPool,
            place: *const [c_int; 2],
            kind: c_int,
        ) -> sys::CUresult;
        fn cuMemSetMemPool(place: *const [c_int; 2], kind: c_int, pool: sys::CUmemoryPool) -> sys::CUresult;
        fn cuMemGetDefaultMemPool(
            out: *mut sys::CUmemoryPool,
            place: *const [c_int; 2],
            kind: c_int,
        ) -> sys::CUresult;
    }
    let _context = OwnContext::new();
    let address = allocate(64);
    let thread = ptr::without_provenance_mut(2);
    let (from, mut back) = ([7_u8; 32], [0_u8; 64]);
    let host = from.as_ptr().expose_provenance() as u64;
    let in_stream = Attributes { order: 1, places: [0; 4], flags: 0 };
    let during_call = Attributes { order: 2, ..in_stream };
    // SAFETY: pointers are to as many elements as is said, and memory lives until the stream is synchronised.
    unsafe {
        ok(sys::cuMemsetD8_v2(address, 1, 64));
        let copy = |sizes: [usize; 2], attributes: [Attributes; 2], firsts: [usize; 2], stream| {
            let (to, from, mut failed) = ([address, address + 40], [host, host + 8], 9);
            let code = cuMemcpyBatchAsync(
                to.as_ptr(),
                from.as_ptr(),
                sizes.as_ptr(),
                2,
                attributes.as_ptr(),
                firsts.as_ptr(),
                2,
                &raw mut failed,
                stream,
            );
            (code as c_int, failed)
        };
        let both = [in_stream, during_call];
        assert_eq!(copy([8, 16], both, [0, 1], thread), (0, usize::MAX));
        ok(sys::cuStreamSynchronize(thread));
        ok(sys::cuMemcpyDtoH_v2(back.as_mut_ptr().cast(), address, 64));
        let expected: Vec<u8> =
            [(7, 8), (1, 32), (7, 16), (1, 8)].iter().flat_map(|&(v, n)| std::iter::repeat_n(v, n)).collect();
        assert_eq!(back[..], expected);
        assert_eq!(copy([8, 16], both, [0, 1], ptr::null_mut()).0, INVALID_VALUE);
        assert_eq!(copy([8, 16], both, [0, 0], thread).0, INVALID_VALUE);
        assert_eq!(copy([8, 16], both, [0, 2], thread).0, INVALID_VALUE);
        let unknown = Attributes { order: 0, ..in_stream };
        assert_eq!(copy([8, 16], [in_stream, unknown], [0, 1], thread).0, INVALID_VALUE);

        const PINNED: c_int = 1;
        let (device, nowhere) = ([1, 0], [77, 0]);
        let (mut default, mut current, mut made) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        ok(cuMemGetDefaultMemPool(&raw mut default, &raw const device, PINNED));
        ok(sys::cuDeviceGetDefaultMemPool(&raw mut current, 0));
        assert_eq!(default, current);
        let mut properties: sys::CUmemPoolProps = std::mem::zeroed();
        properties.allocType = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        ok(sys::cuMemPoolCreate(&raw mut made, &raw const properties));
        ok(cuMemSetMemPool(&raw const device, PINNED, made));
        ok(cuMemGetMemPool(&raw mut current, &raw const device, PINNED));
        assert_eq!(current, made);
        gives(cuMemGetMemPool(&raw mut current, &raw const nowhere, PINNED), INVALID_VALUE);
        ok(cuMemSetMemPool(&raw const device, PINNED, default));
        ok(sys::cuMemPoolDestroy(made));

        // No graph has allocated.
        use sys::CUgraphMem_attribute::CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT as RESERVED;
        let mut reserved = 9_u64;
        ok(sys::cuDeviceGraphMemTrim(0));
        ok(sys::cuDeviceGetGraphMemAttribute(0, RESERVED, (&raw mut reserved).cast()));
        assert_eq!(reserved, 0);
        gives(sys::cuDeviceSetGraphMemAttribute(0, RESERVED, (&raw mut reserved).cast()), INVALID_VALUE);
        ok(sys::cuMemFree_v2(address));
    }
}
