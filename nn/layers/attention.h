// Attention over sequences: includes all headers of attention/.
#pragma once

#include "panto/nn/layers/attention/dot_attention.h"
#include "panto/nn/layers/attention/multi_head_attention.h"
