// Attention over sequences. All of the room.
#pragma once

#include "panto/nn/layers/attention/dot_attention.h"
#include "panto/nn/layers/attention/multi_head_attention.h"
