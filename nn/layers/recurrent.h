// Recurrent layers: includes all headers of recurrent/.
#pragma once

#include "panto/nn/layers/recurrent/bidirectional.h"
#include "panto/nn/layers/recurrent/cell.h"
#include "panto/nn/layers/recurrent/conv_lstm.h"
#include "panto/nn/layers/recurrent/gru.h"
#include "panto/nn/layers/recurrent/lstm.h"
#include "panto/nn/layers/recurrent/rnn.h"
#include "panto/nn/layers/recurrent/simple_rnn.h"
