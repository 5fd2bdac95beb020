#include "panto/lib/core/media/wav.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/media/codecs.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are");

constexpr uint16_t kBits = 16, kPcm = 1;
constexpr int64_t kSampleBytes = kBits / 8;
constexpr float kScale = 32768;

// Reads numbers and names, never beyond the end.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : rest_(bytes) {}
  template <class T>
  T number() {
    T value;
    const std::string_view bytes = take(sizeof(T));
    std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  std::string_view take(size_t count) {
    if (count > rest_.size()) {
      failf(Code::kDataLoss, "wav: expected {} more bytes, got {}", count, rest_.size());
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  void expect(std::string_view name) {
    const std::string_view got = take(name.size());
    if (got != name) invalid("wav: expected '{}', got '{}'", name, printable(got));
  }
  size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
};

template <class T>
void append(std::string& to, T number) {
  to.append(reinterpret_cast<const char*>(&number), sizeof(T));
}

}  // namespace

Wav wav_from_bytes(std::string_view bytes, const WavOptions& options) {
  if (options.channels < -1) invalid("desired_channels: expected at least -1, got {}", options.channels);
  if (options.frames < -1) invalid("desired_samples: expected at least -1, got {}", options.frames);
  Cursor cursor(bytes);
  cursor.expect("RIFF");
  cursor.take(4);  // the file's size, which some programs do not know when they begin to write
  cursor.expect("WAVE");
  int64_t channels = 0, rate = 0;
  for (;;) {
    const std::string_view name = cursor.take(4);
    const auto size = cursor.number<uint32_t>();
    if (name == "fmt ") {
      Cursor format(cursor.take(size));
      const auto kind = format.number<uint16_t>();
      if (kind != kPcm) failf(Code::kUnimplemented, "wav: expected samples of PCM (1), got format {}", kind);
      channels = format.number<uint16_t>();
      rate = format.number<uint32_t>();
      format.number<uint32_t>();  // bytes in a second
      const auto frame_bytes = format.number<uint16_t>();
      const auto bits = format.number<uint16_t>();
      if (bits != kBits) failf(Code::kUnimplemented, "wav: expected {} bits a sample, got {}", kBits, bits);
      if (channels == 0) fail(Code::kDataLoss, "wav: expected channels, got none");
      if (rate > INT32_MAX) failf(Code::kDataLoss, "wav: expected a sample rate below 2^31, got {}", rate);
      if (frame_bytes != channels * kSampleBytes) {
        failf(Code::kDataLoss, "wav: expected {} bytes of {} channels, got {}", channels * kSampleBytes, channels,
              frame_bytes);
      }
    } else if (name == "data") {
      if (channels == 0) fail(Code::kDataLoss, "wav: expected a format before the samples, got none");
      const std::string_view data = cursor.take(size);
      const int64_t frames = static_cast<int64_t>(size) / (channels * kSampleBytes);
      const int64_t out_frames = options.frames < 0 ? frames : options.frames;
      const int64_t out_channels = options.channels < 0 ? channels : options.channels;
      const int64_t all = checked_mul(checked_mul(out_frames, out_channels, "samples"), sizeof(float), "samples");
      if (all > options.max_bytes) {
        failf(Code::kResourceExhausted, "wav: expected at most {} bytes when decoded, got {}", options.max_bytes, all);
      }
      Wav wav{allocate_tensor(cpu_device(), kFloat32, Shape{out_frames, out_channels}), rate};
      auto* to = mutable_data<float>(wav.samples);
      for (int64_t frame = 0; frame < out_frames; ++frame) {
        for (int64_t c = 0; c < out_channels; ++c) {
          int16_t sample = 0;
          if (frame < frames) {
            const int64_t at = frame * channels + std::min(c, channels - 1);
            std::memcpy(&sample, data.data() + at * kSampleBytes, sizeof(sample));
          }
          *to++ = static_cast<float>(sample) / kScale;
        }
      }
      return wav;
    } else {
      cursor.take(size);
      if (size % 2 != 0 && cursor.left() > 0) cursor.take(1);  // chunks begin at even offsets
    }
  }
}

Wav read_wav(const std::string& path, const WavOptions& options) {
  const std::string bytes = read_file(path);
  return with_context([&] { return fmt::format("in file '{}'", printable(path)); },
                      [&] { return wav_from_bytes(bytes, options); });
}

std::string wav_bytes(std::span<const float> samples, int64_t channels, int64_t sample_rate) {
  constexpr uint32_t kHeaderBytes = 36;  // without the first eight bytes
  if (channels < 1) invalid("wav: expected channels, got none");
  if (sample_rate < 1) invalid("wav: expected a positive sample rate, got {}", sample_rate);
  const auto data_bytes = checked_cast<uint32_t>(
      checked_mul(static_cast<int64_t>(samples.size()), kSampleBytes, "bytes of a WAV"), "bytes of a WAV");
  if (data_bytes > UINT32_MAX - kHeaderBytes) invalid("wav: expected less than 4 GiB, got {} bytes", data_bytes);
  const auto frame_bytes =
      checked_cast<uint16_t>(checked_mul(channels, kSampleBytes, "channels of a WAV"), "channels of a WAV");
  const auto rate = checked_cast<uint32_t>(sample_rate, "sample rate of a WAV");
  std::string bytes = "RIFF";
  append(bytes, kHeaderBytes + data_bytes);
  bytes += "WAVEfmt ";
  append(bytes, uint32_t{16});  // bytes of the format
  append(bytes, kPcm);
  append(bytes, checked_cast<uint16_t>(channels, "channels of a WAV"));
  append(bytes, rate);
  append(bytes,
         checked_cast<uint32_t>(checked_mul(sample_rate, frame_bytes, "sample rate of a WAV"), "sample rate of a WAV"));
  append(bytes, frame_bytes);
  append(bytes, kBits);
  bytes += "data";
  append(bytes, data_bytes);
  constexpr float kLeast = std::numeric_limits<int16_t>::min(), kMost = std::numeric_limits<int16_t>::max();
  for (const float v : samples) {
    append(bytes, static_cast<int16_t>(std::isnan(v) ? 0.0F : std::clamp(std::round(v * kScale), kLeast, kMost)));
  }
  return bytes;
}

std::string wav_bytes(const Tensor& samples, int64_t sample_rate) {
  const Tensor host =
      samples.is_meta() || !samples.device().host_memory() ? copy_to_device(samples, cpu_device()) : samples;
  const int rank = host.shape().rank();
  if (host.dtype() != kFloat32 || (rank != 1 && rank != 2)) {
    invalid("wav: expected float32 [frames] or [frames, channels], got {}{}", dtype_name(host.dtype()),
            host.shape().to_string());
  }
  return wav_bytes(std::span(mutable_data<const float>(host), static_cast<size_t>(host.numel())),
                   rank == 1 ? 1 : host.dim(1), sample_rate);
}

void write_wav(const std::string& path, const Tensor& samples, int64_t sample_rate) {
  write_file(path, wav_bytes(samples, sample_rate));
}

}  // namespace panto
