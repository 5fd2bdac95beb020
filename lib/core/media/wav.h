// Sound: WAV files of 16 bits a sample (PCM) as tensors.
//
//   const Wav voice = read_wav("voice.wav");                    // float32 [frames, channels] from -1 to 1
//   write_wav("loud.wav", voice.samples * 2.0f, voice.sample_rate);
//
// A sample is the file's number divided by 32768; samples beyond -1 or 1 are clipped. Throw DataLoss for truncated and
// damaged files, Unimplemented for other kinds of WAV, InvalidArgument for other formats, and as read_file and
// write_file. Thread-safety: plain functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

struct Wav {
  Tensor samples;
  int64_t sample_rate = 0;  // frames in a second
};

struct WavOptions {
  // The wanted numbers of channels and frames; -1: as in the file. Extra channels repeat the file's last one, extra
  // frames are silent. Other negative numbers throw InvalidArgument.
  int64_t channels = -1;
  int64_t frames = -1;
  // Limit for the decoded samples. Throws ResourceExhausted beyond it, before memory is taken.
  int64_t max_bytes = int64_t{1} << 31;
};

PANTO_EXPORT Wav read_wav(const std::string& path, const WavOptions& options = {});
PANTO_EXPORT Wav wav_from_bytes(std::string_view bytes, const WavOptions& options = {});
// Samples are float32 [frames] or [frames, channels]. Throws InvalidArgument for others, and for a rate that is not
// positive.
PANTO_EXPORT void write_wav(const std::string& path, const Tensor& samples, int64_t sample_rate);
PANTO_EXPORT std::string wav_bytes(const Tensor& samples, int64_t sample_rate);

}  // namespace panto
