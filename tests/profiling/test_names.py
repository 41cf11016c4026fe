"""What names tell, on names from real traces and from the libraries' own lists."""

import pytest

from perftui.trainer.profiling.call_names import (
    allocates,
    frees,
    is_blocking_copy,
    is_driver_launch,
    launches_graph,
    launches_kernel,
    waits,
)
from perftui.trainer.profiling.frame_files import installed_here, known_by_name
from perftui.trainer.profiling.host_names import (
    frame_file,
    frame_place,
    is_compiled,
    is_compiling,
    step_number,
)
from perftui.trainer.profiling.kernel_names import is_communication, kernel_class, on_tensor_cores

KERNELS = [
    ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "communication", False),
    (
        "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)",
        "communication",
        False,
    ),
    ("multimem_all_reduce_kernel<c10::BFloat16>", "communication", False),
    ("void sglang::cross_device_reduce_1stage<half, 2>", "communication", False),
    ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4>(Params)", "gemm", True),
    ("ampere_sgemm_32x128_tn", "gemm", False),
    ("nvjet_sm90_tst_64x128_64x8_2x1_v_bz_splitK_NTN", "gemm", True),
    ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_warpgroupsize1x1x1_execute", "gemm", True),
    ("Cijk_Ailk_Bljk_BBS_BH_MT64x64x64_MI16x16x16x1_SN_1LDSB0", "gemm", True),
    ("void gemv2T_kernel_val<int, int, float, float, float>", "gemm", False),
    ("void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16>", "gemm", False),
    (
        "sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16",
        "conv",
        True,
    ),
    ("igemm_wrw_gtcx3_nhwc_bf16_bx0_ex1_bt256x128x16_wt32x32x8", "conv", True),
    ("void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>", "conv", None),
    ("void conv2d_grouped_direct_kernel<float>", "conv", None),
    ("void convert_dtype_kernel<float, half>", "other", None),
    ("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128>>", "attention", True),
    ("fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::Params)", "attention", True),
    ("void at::native::batch_norm_collect_statistics_kernel<at::native::Var, c10::BFloat16>", "norm", False),
    ("void cudnn::bn_fw_tr_1C11_singleread<float, 512, true, 1, 2, 0>", "norm", False),
    ("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>", "norm", False),
    (
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<2>>",
        "optimizer",
        False,
    ),
    (
        "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>",
        "elementwise",
        False,
    ),
    (
        "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2>",
        "elementwise",
        False,
    ),
    ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>", "reduce", False),
    ("void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true>", "reduce", False),
    ("triton_poi_fused_relu_0", "triton", None),
    ("triton_poi_fused_all_reduce_0", "triton", None),
    ("triton_red_fused__to_copy_all_gather_into_tensor_wait_tensor_3", "triton", None),
    ("triton_per_fused_add_reduce_scatter_tensor_sum_1", "triton", None),
    ("two_shot_all_reduce_kernel_triton", "communication", False),
    ("void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*, int*)", "communication", False),
    ("void deep_ep::internode_ll::combine<true, 7168, 9, 3>(void*, void*)", "communication", False),
    ("void deep_ep::internode::notify_dispatch<false, 4>(int const*)", "communication", False),
    ("void deep_ep::elastic::dispatch_impl<8>(int4*)", "communication", False),
    ("mscclKernel_Sum_hip_bfloat16_Simple_false", "communication", False),
    ("deep_ep::layout::get_dispatch_layout<256, 32, 8>(long const*, int*)", "other", None),
    ("kuserbuffers_pushsendrecv(int, int, int*, int*)", "communication", False),
    ("void userbuffers_fp16_sum_inplace_gpu_rr_rs_oop<8>(int, int)", "communication", False),
    ("void at::native::indexSelectLargeIndex<float, long, unsigned int>", "other", None),
]


@pytest.mark.parametrize(("name", "kind", "tensor_cores"), KERNELS)
def test_kernels(name: str, kind: str, tensor_cores: bool | None) -> None:
    assert kernel_class(name) == kind
    assert on_tensor_cores(name) is tensor_cores
    assert is_communication(name) is (kind == "communication")


@pytest.mark.parametrize(
    "name",
    [
        "cudaLaunchKernel", "cudaLaunchKernelExC", "cudaLaunchCooperativeKernel", "cuLaunchKernel",
        "cuLaunchKernelEx", "hipLaunchKernel", "hipExtLaunchKernel", "hipModuleLaunchKernel",
        "hipExtModuleLaunchKernel", "cudaGraphLaunch", "hipGraphLaunch", "cudaGraphLaunch_v10000",
    ],
)  # fmt: skip
def test_launches(name: str) -> None:
    assert launches_kernel(name)
    assert launches_graph(name) is ("Graph" in name)
    assert is_driver_launch(name) is (name.startswith("cuL") or "Module" in name)


@pytest.mark.parametrize(
    "name",
    ["cudaFuncGetAttributes", "cudaMemcpyAsync", "cudaStreamIsCapturing", "cudaGraphInstantiate", "INVALID"],
)
def test_no_launches(name: str) -> None:
    assert not launches_kernel(name)


@pytest.mark.parametrize(
    ("name", "waiting", "copying"),
    [
        ("cudaDeviceSynchronize", True, False),
        ("cudaStreamSynchronize", True, False),
        ("cudaEventSynchronize", True, False),
        ("hipStreamSynchronize", True, False),
        ("cuCtxSynchronize", True, False),
        ("cudaStreamWaitEvent", False, False),
        ("cudaEventQuery", False, False),
        ("cudaMemcpy", False, True),
        ("hipMemcpyWithStream", False, True),
        ("cudaMemcpy2DAsync", False, False),
        ("cudaMemcpyAsync", False, False),
        ("cudaMemsetAsync", False, False),
    ],
)
def test_waiting(name: str, waiting: bool, copying: bool) -> None:
    assert (waits(name), is_blocking_copy(name)) == (waiting, copying)


@pytest.mark.parametrize(
    ("name", "taking", "giving"),
    [
        ("cudaMalloc", True, False),
        ("cudaMallocAsync", True, False),
        ("hipMalloc", True, False),
        ("cuMemAlloc_v2", True, False),
        ("cudaMallocHost", False, False),
        ("cudaHostAlloc", False, False),
        ("cudaFree", False, True),
        ("cudaFreeAsync", False, True),
        ("cudaFreeHost", False, False),
        ("cuMemFree_v2", False, True),
    ],
)
def test_allocation(name: str, taking: bool, giving: bool) -> None:
    assert (allocates(name), frees(name)) == (taking, giving)


def test_host_names() -> None:
    assert [step_number(name) for name in ("ProfilerStep#12", "ProfilerStep# 3", "aten::mm")] == [12, 3, None]
    assert is_compiling("compile_fx_inner (dynamo_timed)")
    assert not is_compiling("aten::compile")
    assert is_compiled("Torch-Compiled Region: 0/0")
    assert frame_place("src/train.py(42): main") == "src/train.py:42 main"
    assert frame_place("<built-in method item of Tensor object at 0x7f>") is None
    assert frame_file("src/train.py(42): main") == "src/train.py"
    assert frame_file("nn.Module: Linear_0") is None


@pytest.mark.parametrize(
    "file",
    [
        "src/train.py", "train.py", "torch-train/main.py", "torchlike/a.py", "/home/u/proj/torch/x.py",
        "datasets/coco.py", "models/transformers/vit.py", "code/train.py", "profile.py", "trace.py",
        "test/train.py", "utils/logging.py", "functools_of_mine.py", "transformers.py", "numpyro_model.py",
    ],
)  # fmt: skip
def test_files_of_the_users(file: str) -> None:
    assert not known_by_name(file)
    assert not installed_here(file)


@pytest.mark.parametrize(
    "file",
    [
        "torch/nn/modules/module.py", "torch/_ops.py", "transformers/trainer.py", "tqdm/std.py", "queue.py",
        "threading.py", "concurrent/futures/thread.py", "multiprocessing/queues.py", "contextlib.py",
        "<frozen importlib._bootstrap>", "<string>", "PIL/Image.py", "datasets/arrow_dataset.py",
        "datasets/formatting/torch_formatter.py", "lightning/pytorch/loops/fit_loop.py",
        "pytorch_lightning/trainer/trainer.py", "accelerate/utils/operations.py",
        "/opt/venv/lib/python3.12/site-packages/timm/models.py", "/usr/lib/python3/dist-packages/x.py",
        "perftui/trainer/probe/hooks.py",
    ],
)  # fmt: skip
def test_files_of_others(file: str) -> None:
    assert known_by_name(file)
    assert installed_here(file)


def test_packages_that_are_at_hand_are_known_by_their_files() -> None:
    """A folder of the user's that is called like a package is the user's."""
    assert not known_by_name("pytest/__init__.py")
    assert installed_here("pytest/__init__.py")
    assert installed_here("_pytest/config/__init__.py")
    assert not installed_here("pytest/of_mine.py")
    assert not installed_here(__file__)
    assert not installed_here("../site.py")
    assert not installed_here("x" * 5000 + "\0.py")
