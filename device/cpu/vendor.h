// The maker of the processor. It decides how memory is read best, which no processor flag tells; measurements stand
// where is_amd() is called.
#pragma once

namespace panto::cpu {

bool is_amd() noexcept;

}  // namespace panto::cpu
