// Who made the processor. What differs and cannot be asked for, with the measurements where this is asked, is how
// memory is read best.
#pragma once

namespace panto::cpu {

bool is_amd() noexcept;

}  // namespace panto::cpu
