#include "panto/device/cpu/conv/conv_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "panto/device/cpu/conv/conv_layout.h"
#include "panto/device/cpu/conv/conv_narrow_groups.h"
#include "panto/device/cpu/conv/conv_panels.h"
#include "panto/device/cpu/conv/conv_small_channels.h"
#include "panto/device/cpu/conv/onednn.h"
#include "panto/device/cpu/fused/epilogue.h"
#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/one_thread.h"
#include "panto/device/cpu/parallel.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto::cpu {
namespace {

constexpr int64_t kTileWork = 2 << 20;                  // multiplications per tile, if there are enough
constexpr int64_t kMaxTiles = 64;                       // whatever the number of processors; but more tiles if
constexpr int64_t kMaxTileWork = int64_t{1} << 30;      // one takes some 20 ms, since a tile cannot be cancelled
constexpr int64_t kMaxFilterTiles = 16;                 // each of which has its own gradient of the filter,
constexpr int64_t kMaxFilterBytes = int64_t{64} << 20;  // in no more memory than this
constexpr int64_t kMinBandRows = 4;        // a band needs the rows beside it, too, and reads the filter again; of
                                           // planes one is enough
constexpr int64_t kSmallWork = 16 * 1024;  // for fewer multiplications a plain loop is faster than calling oneDNN
constexpr int64_t kBlockedWork = 190;      // multiplications per element moved, from which on blocks pay
constexpr int64_t kBlockedChannels = 16;
constexpr int64_t kPackChannels = 64;         // output channels that are packed at a time
constexpr int64_t kPackedAlone = 256 * 1024;  // bytes of a filter up to which one thread packs it

Tensor buffer(Device& device, size_t bytes) {
  return allocate_tensor(device, kUint8, Shape{checked_cast<int64_t>(bytes)});
}

size_t size_of(const dnnl_memory_desc_t& desc) { return dnnl_memory_desc_get_size(&desc); }

void* element(void* data, DType type, int64_t i) {
  return static_cast<std::byte*>(data) + i * static_cast<int64_t>(dtype_size(type));
}

bool is_float_image(const PlannedConvolution& c) { return !c.volumes && !c.bfloat16; }

// Whether images should be copied to the layout that oneDNN chooses.
bool blocked_layout(const PlannedConvolution& c) {
  if (c.channels_first()) return true;  // NCHW: hardly any primitives exist for it
  if (onednn_has_avx512()) return false;
  const int64_t window = c.depth.size * c.height.size * c.width.size;
  if (c.groups > 1 || window == 1 || std::min(c.in_channels, c.out_channels) < kBlockedChannels) return false;
  return work_of(c) / c.batch / (c.in_elements() + c.out_elements()) >= kBlockedWork;
}

}  // namespace

// A band of rows of an image. For gradients by input it is a band of the input's rows, with the rows of the output that
// they depend on; otherwise a band of the output's rows, with the rows of the input that they depend on.
struct ConvPlan::Band {
  int64_t in_first, in_rows, out_first, out_rows;
  int64_t before, after;  // padding
};

// The primitives for tiles of one size.
struct ConvPlan::Primitives {
  DnnlPrimitive convolution;
  dnnl_memory_desc_t in, out, filter;  // the layouts that the primitive wants
  dnnl_memory_desc_t our_in, our_out;  // the layouts of the tensors
  DnnlPrimitive copy_in, copy_out;     // between those; empty if they are the same
};

// Copies between our layout of the filter and oneDNN's, some output channels at a time.
struct ConvPlan::Packing {
  dnnl_memory_desc_t ours, packed;
  struct Part {
    dnnl_memory_desc_t ours, packed;
    DnnlPrimitive copy;
  };
  std::vector<Part> parts;  // empty if the layouts are the same
};

bool ConvPlan::fits(const PlannedConvolution& c) { return work_of(c) >= kSmallWork && fits_onednn(c); }

ConvPlan::ConvPlan(ConvKind kind, const PlannedConvolution& c)
    : kind_(kind),
      conv_(c),
      few_channels_(is_float_image(c) && kind == ConvKind::kByInput && has_few_channels(c)),
      narrow_groups_(is_float_image(c) && kind == ConvKind::kForward && has_narrow_groups(c)),
      panels_(is_float_image(c) && kind == ConvKind::kForward && has_panels(c)) {
  if (few_channels_ || narrow_groups_ || panels_) return;
  if (is_float_image(c) && ConvProduct::fits(c)) {
    product_ = std::make_unique<const ConvProduct>(kind, c);
    return;
  }
  const bool blocked = blocked_layout(c);
  cut();
  make_primitives(blocked);
  // oneDNN may have only its reference implementation for some tiles with the filter's layout of the first tile, or for
  // NHWC. Then other tiles and layouts are tried.
  if (has_reference()) {
    keep_images_whole();
    make_primitives(blocked);
  }
  if (has_reference()) make_primitives(true);
  if (has_reference()) {
    cut();  // so that threads can share the work
    make_primitives(blocked);
  }
  make_packing();
}
ConvPlan::~ConvPlan() = default;

DType ConvPlan::type_of(ConvKind writer) const { return conv_.bfloat16 && kind_ != writer ? kBFloat16 : kFloat32; }

void ConvPlan::cut() {
  const PlannedConvolution& c = conv_;
  const int64_t to_stop = work_of(c) / kMaxTileWork;
  const int64_t enough = std::min(kMaxTiles, tiles_for_processors());
  int64_t wanted = std::clamp<int64_t>(work_of(c) / kTileWork, 1, std::max(enough, to_stop));
  if (kind_ == ConvKind::kByFilter) {
    const int64_t bytes = filter_elements(c) * static_cast<int64_t>(sizeof(float));
    wanted = std::max<int64_t>(1, std::min({wanted, std::max(kMaxFilterTiles, to_stop), kMaxFilterBytes / bytes}));
  }
  const int64_t image = std::max(c.in_elements(), c.out_elements());
  images_ = std::min(ceil_div(c.batch, std::min(wanted, c.batch)), kLargestTile / image);
  cut_rows(images_ > 1 ? 1 : wanted / c.batch);
  tiles_ = ceil_div(c.batch, images_) * static_cast<int64_t>(bands_.size());
}

void ConvPlan::keep_images_whole() {
  images_ = 1;
  tiles_ = conv_.batch;
  cut_rows(1);
}

void ConvPlan::cut_rows(int64_t bands) {
  const WindowAxis& a = conv_.first_side();
  const Band whole{0, a.input, 0, a.output, a.before, padding_after(a)};
  if (bands <= 1) return bands_.assign(1, whole);
  bands_.clear();
  const bool by_input = kind_ == ConvKind::kByInput;
  const int64_t all = by_input ? a.input : a.output;
  // Cuts lie between windows: the input is cut where a window begins.
  const int64_t step = by_input ? a.stride : 1;
  const int64_t least = conv_.volumes ? 1 : kMinBandRows;
  const int64_t rows = ceil_div(std::max(ceil_div(all, bands), least), step) * step;
  const int64_t shift = by_input ? (step - a.before % step) % step : 0;  // of the first cut
  for (int64_t first = 0; first < all;) {
    // A rest that is too short for a band is added to the band before.
    int64_t last = first + rows + (first == 0 ? -((step - shift) % step) : 0);
    if (all - last < least) last = all;
    Band b{};
    if (by_input) {
      b.in_first = first;
      b.in_rows = last - first;
      const int64_t reach = first + a.before - (a.extent() - 1);
      b.out_first = std::max<int64_t>(0, reach <= 0 ? 0 : ceil_div(reach, a.stride));
      b.out_rows = std::min(a.output, (last - 1 + a.before) / a.stride + 1) - b.out_first;
      b.before = first - a.begin(b.out_first);
    } else {
      b.out_first = first;
      b.out_rows = last - first;
      b.in_first = std::max<int64_t>(0, a.begin(first));
      b.in_rows = std::min(a.input, a.begin(last - 1) + a.extent()) - b.in_first;
      b.before = b.in_first - a.begin(first);
    }
    b.after = std::max<int64_t>(0, (b.out_rows - 1) * a.stride + a.extent() - b.in_rows - b.before);
    if (b.in_rows <= 0 || b.out_rows <= 0 || b.before < 0) {
      // Windows skip some rows: do not cut.
      return bands_.assign(1, whole);
    }
    bands_.push_back(b);
    first = last;
  }
}

bool ConvPlan::has_reference() const {
  return std::ranges::any_of(variants_, [](const auto& p) { return p->convolution.is_reference(); });
}

void ConvPlan::make_primitives(bool blocked) {
  const OneThread scope;  // oneDNN makes a primitive for a given number of threads
  const PlannedConvolution& c = conv_;
  const WindowAxis& side = c.first_side();
  variants_.clear();
  const DType in_type = type_of(ConvKind::kByInput), out_type = type_of(ConvKind::kForward);
  dnnl_memory_desc_t filter = filter_desc(c, type_of(ConvKind::kByFilter), false);
  const auto make = [&](int64_t images, const Band& b) {
    auto p = std::make_unique<Primitives>();
    const TileSize in{.input = true, .count = images, .rows = b.in_rows};
    const TileSize out{.input = false, .count = images, .rows = b.out_rows};
    if (blocked) {
      p->our_in = tile_desc(c, in_type, in, side.input);
      p->our_out = tile_desc(c, out_type, out, side.output);
      p->in = chosen_tile_desc(c, in_type, in);
      p->out = chosen_tile_desc(c, out_type, out);
    } else {
      // A band belongs to one image, so its tensors differ from dense ones only in the stride between images, which is
      // unused.
      p->our_in = p->in = tile_desc(c, in_type, in, b.in_rows);
      p->our_out = p->out = tile_desc(c, out_type, out, b.out_rows);
    }
    const auto [strides, dilates, before, after] = window_numbers(c, b.before, b.after);
    dnnl_convolution_desc_t desc;
    switch (kind_) {
      case ConvKind::kForward:
        check_dnnl(
            dnnl_dilated_convolution_forward_desc_init(&desc, dnnl_forward_training, dnnl_convolution_direct, &p->in,
                                                       &filter, nullptr, &p->out, strides, dilates, before, after),
            "convolution");
        break;
      case ConvKind::kByInput:
        check_dnnl(dnnl_dilated_convolution_backward_data_desc_init(&desc, dnnl_convolution_direct, &p->in, &filter,
                                                                    &p->out, strides, dilates, before, after),
                   "convolution");
        break;
      case ConvKind::kByFilter:
        check_dnnl(
            dnnl_dilated_convolution_backward_weights_desc_init(&desc, dnnl_convolution_direct, &p->in, &filter,
                                                                nullptr, &p->out, strides, dilates, before, after),
            "convolution");
        break;
    }
    p->convolution = DnnlPrimitive(&desc, "convolution");
    const bool by_input = kind_ == ConvKind::kByInput, by_filter = kind_ == ConvKind::kByFilter;
    p->in = p->convolution.desc(by_input ? dnnl_query_diff_src_md : dnnl_query_src_md);
    p->out = p->convolution.desc(kind_ == ConvKind::kForward ? dnnl_query_dst_md : dnnl_query_diff_dst_md);
    p->filter = p->convolution.desc(by_filter ? dnnl_query_diff_weights_md : dnnl_query_weights_md);
    filter = p->filter;  // the same for all tiles
    const auto copy = [](const dnnl_memory_desc_t& from, const dnnl_memory_desc_t& to) {
      return dnnl_memory_desc_equal(&from, &to) != 0 ? DnnlPrimitive() : DnnlPrimitive::reorder(from, to);
    };
    p->copy_in = by_input ? copy(p->in, p->our_in) : copy(p->our_in, p->in);
    p->copy_out = kind_ == ConvKind::kForward ? copy(p->out, p->our_out) : copy(p->our_out, p->out);
    variants_.push_back(std::move(p));
  };
  const int64_t rest = c.batch % images_;
  for (const Band& b : bands_) make(images_, b);
  if (rest > 0) make(rest, bands_[0]);
}

void ConvPlan::make_packing() {
  const OneThread scope;
  const PlannedConvolution& c = conv_;
  packing_ = std::make_unique<Packing>();
  packing_->ours = filter_desc(c, type_of(ConvKind::kByFilter), true);
  packing_->packed = variants_[0]->filter;
  if (dnnl_memory_desc_equal(&packing_->ours, &packing_->packed) != 0) return;
  const bool unpack = kind_ == ConvKind::kByFilter;
  const auto add = [&](const dnnl_memory_desc_t& ours, const dnnl_memory_desc_t& packed) {
    packing_->parts.push_back(
        {ours, packed, unpack ? DnnlPrimitive::reorder(packed, ours) : DnnlPrimitive::reorder(ours, packed)});
  };
  const bool many = filter_elements(c) * static_cast<int64_t>(sizeof(float)) > kPackedAlone && c.groups == 1;
  const int64_t each = many ? kPackChannels : c.out_channels;
  for (int64_t first = 0; first < c.out_channels; first += each) {
    if (each == c.out_channels) {
      add(packing_->ours, packing_->packed);
      break;
    }
    dnnl_dims_t dims = {};
    std::copy_n(packing_->ours.dims, packing_->ours.ndims, dims);
    dims[0] = std::min(each, c.out_channels - first);
    const dnnl_dims_t offsets = {first};
    dnnl_memory_desc_t ours, packed;
    if (dnnl_memory_desc_init_submemory(&ours, &packing_->ours, dims, offsets) != dnnl_success ||
        dnnl_memory_desc_init_submemory(&packed, &packing_->packed, dims, offsets) != dnnl_success) {
      // Some layouts cannot be cut: copy all at once.
      packing_->parts.clear();
      add(packing_->ours, packing_->packed);
      break;
    }
    add(ours, packed);
  }
}

const ConvPlan::Primitives& ConvPlan::primitives(int64_t tile) const {
  const auto bands = static_cast<int64_t>(bands_.size());
  const bool rest = tile / bands * images_ + images_ > conv_.batch;
  return *variants_[static_cast<size_t>(rest ? bands : tile % bands)];
}

void ConvPlan::pack_filter(const void* filter, void* packed) const {
  const auto& parts = packing_->parts;
  parallel_ranges(
      static_cast<int64_t>(parts.size()), 2 * static_cast<int64_t>(size_of(packing_->packed)),
      [&](int64_t begin, int64_t end) {
        const OneThread scope;
        for (int64_t i = begin; i < end; ++i) {
          const Packing::Part& p = parts[static_cast<size_t>(i)];
          p.copy.run({{DNNL_ARG_FROM, &p.ours, filter}, {DNNL_ARG_TO, &p.packed, packed}});
        }
      },
      1);
}

void ConvPlan::unpack_filter(const void* packed, void* filter) const {
  const auto& parts = packing_->parts;
  parallel_ranges(
      static_cast<int64_t>(parts.size()), 2 * static_cast<int64_t>(size_of(packing_->packed)),
      [&](int64_t begin, int64_t end) {
        const OneThread scope;
        for (int64_t i = begin; i < end; ++i) {
          const Packing::Part& p = parts[static_cast<size_t>(i)];
          p.copy.run({{DNNL_ARG_FROM, &p.packed, packed}, {DNNL_ARG_TO, &p.ours, filter}});
        }
      },
      1);
}

PackedFilter ConvPlan::pack(const Tensor& filter, Device& device) const {
  if (few_channels_ || narrow_groups_) return {};
  if (panels_) return {pack_panels(conv_, filter.data<float>().data(), device), nullptr};
  if (product_ != nullptr) return {{}, product_->pack(filter)};
  if (packing_->parts.empty()) return {};
  PackedFilter result{buffer(device, size_of(packing_->packed)), nullptr};
  pack_filter(filter.impl()->data, mutable_data<uint8_t>(result.blocks));
  return result;
}

void ConvPlan::finish_tile(int64_t tile, float* output, const BoundEpilogue& epilogue) const {
  const PlannedConvolution& c = conv_;
  const auto bands = static_cast<int64_t>(bands_.size());
  const Band& band = bands_[static_cast<size_t>(tile % bands)];
  const int64_t first = tile / bands * images_, last = std::min(c.batch, first + images_);
  const int64_t plane = c.first_side().output * c.out_pixels(), channels = c.out_channels;
  const int64_t count = band.out_rows * c.out_pixels(), begin = band.out_first * c.out_pixels();
  if (!c.channels_first()) {
    // A tile of several images has no bands, so the tile's pixels are contiguous in either case.
    const int64_t rows = (last - first - 1) * plane + count;
    return epilogue.finish_rows(output, (first * plane + begin) * channels, rows, 0, channels, channels);
  }
  for (int64_t i = first * channels; i < last * channels; ++i) {
    epilogue.finish_plane(output, i * plane + begin, i % channels, count);
  }
}

void ConvPlan::run_tile(int64_t tile, void* input, void* packed, void* output, Device& device,
                        const BoundEpilogue* epilogue) const {
  const PlannedConvolution& c = conv_;
  const Primitives& p = primitives(tile);
  const auto bands = static_cast<int64_t>(bands_.size());
  const Band& band = bands_[static_cast<size_t>(tile % bands)];
  const int64_t image = tile / bands * images_;
  const int64_t in_row = c.in_pixels() * (c.channels_first() ? 1 : c.in_channels);
  const int64_t out_row = c.out_pixels() * (c.channels_first() ? 1 : c.out_channels);
  void* const in = element(input, type_of(ConvKind::kByInput), image * c.in_elements() + band.in_first * in_row);
  void* const out = element(output, type_of(ConvKind::kForward), image * c.out_elements() + band.out_first * out_row);
  Tensor in_copy, out_copy;
  void *in_used = in, *out_used = out;
  if (p.copy_in) {
    in_copy = buffer(device, size_of(p.in));
    in_used = mutable_data<uint8_t>(in_copy);
  }
  if (p.copy_out) {
    out_copy = buffer(device, size_of(p.out));
    out_used = mutable_data<uint8_t>(out_copy);
  }
  const auto take_in = [&] {
    if (p.copy_in) p.copy_in.run({{DNNL_ARG_FROM, &p.our_in, in}, {DNNL_ARG_TO, &p.in, in_used}});
  };
  const auto take_out = [&] {
    if (p.copy_out) p.copy_out.run({{DNNL_ARG_FROM, &p.our_out, out}, {DNNL_ARG_TO, &p.out, out_used}});
  };
  switch (kind_) {
    case ConvKind::kForward:
      take_in();
      p.convolution.run(
          {{DNNL_ARG_SRC, &p.in, in_used}, {DNNL_ARG_WEIGHTS, &p.filter, packed}, {DNNL_ARG_DST, &p.out, out_used}});
      if (p.copy_out) p.copy_out.run({{DNNL_ARG_FROM, &p.out, out_used}, {DNNL_ARG_TO, &p.our_out, out}});
      if (epilogue != nullptr) finish_tile(tile, static_cast<float*>(output), *epilogue);
      break;
    case ConvKind::kByInput:
      take_out();
      p.convolution.run({{DNNL_ARG_DIFF_DST, &p.out, out_used},
                         {DNNL_ARG_WEIGHTS, &p.filter, packed},
                         {DNNL_ARG_DIFF_SRC, &p.in, in_used}});
      if (p.copy_in) p.copy_in.run({{DNNL_ARG_FROM, &p.in, in_used}, {DNNL_ARG_TO, &p.our_in, in}});
      break;
    case ConvKind::kByFilter:
      take_in();
      take_out();
      p.convolution.run({{DNNL_ARG_SRC, &p.in, in_used},
                         {DNNL_ARG_DIFF_DST, &p.out, out_used},
                         {DNNL_ARG_DIFF_WEIGHTS, &p.filter, packed}});
      break;
  }
}

// Adds the tiles' gradients, `count` floats each, to the first one, in order.
void ConvPlan::add_tiles(float* sums, int64_t count) const {
  parallel_ranges(count, count * tiles_ * static_cast<int64_t>(sizeof(float)), [&](int64_t begin, int64_t end) {
    multiversioned([&] {
      for (int64_t t = 1; t < tiles_; ++t) {
        const float* more = sums + t * count;
        for (int64_t i = begin; i < end; ++i) sums[i] += more[i];
      }
    });
  });
}

void ConvPlan::run(void* input, void* filter, void* output, Device& device, const PackedFilter* packed,
                   const BoundEpilogue* epilogue) const {
  if (few_channels_ || narrow_groups_ || panels_ || product_ != nullptr) {
    return run_floats(static_cast<float*>(input), static_cast<float*>(filter), static_cast<float*>(output), device,
                      packed, epilogue);
  }
  const bool by_filter = kind_ == ConvKind::kByFilter;
  // Each tile's gradient by filter, or the filter for all tiles. Packed filters may be larger, since blocks are padded.
  const size_t packed_bytes = size_of(packing_->packed);
  const bool packs = !packing_->parts.empty() && packed == nullptr;
  Tensor buffers;
  void* used = packed != nullptr ? mutable_data<uint8_t>(packed->blocks) : filter;
  if (packs || (by_filter && tiles_ > 1)) {
    buffers = buffer(device, packed_bytes * static_cast<size_t>(by_filter ? tiles_ : 1));
    used = mutable_data<uint8_t>(buffers);
  }
  if (packs && !by_filter) pack_filter(filter, used);
  const int64_t step = by_filter ? static_cast<int64_t>(packed_bytes) : 0;
  parallel_ranges(
      tiles_, work_of(conv_),
      [&](int64_t begin, int64_t end) {
        const OneThread scope;
        for (int64_t t = begin; t < end; ++t) {
          run_tile(t, input, static_cast<std::byte*>(used) + t * step, output, device, epilogue);
        }
      },
      1);
  if (!by_filter) return;
  if (tiles_ > 1) add_tiles(static_cast<float*>(used), static_cast<int64_t>(packed_bytes / sizeof(float)));
  if (packs) {
    unpack_filter(used, filter);
  } else if (used != filter) {
    std::memcpy(filter, used, packed_bytes);
  }
}

void ConvPlan::run_floats(float* input, float* filter, float* output, Device& device, const PackedFilter* packed,
                          const BoundEpilogue* epilogue) const {
  if (few_channels_) return gradient_by_few_channels(conv_, input, filter, output);
  if (narrow_groups_) return convolve_narrow_groups(conv_, input, filter, output, epilogue);
  if (panels_) {
    return convolve_by_panels(conv_, input, filter, output, device,
                              packed == nullptr ? nullptr : packed->blocks.data<float>().data(), epilogue);
  }
  product_->run(input, filter, output, device, packed == nullptr ? nullptr : packed->matrix.get(), epilogue);
}

}  // namespace panto::cpu
