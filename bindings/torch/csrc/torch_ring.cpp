/* SPDX-License-Identifier: MIT */
/*
 * torch_ring._C as the one unit that is compiled: PyTorch's headers take ten times as long as what
 * is written here.
 */
#include "backend.cpp"
#include "calls.cpp"
#include "collective.cpp"
#include "meeting.cpp"
#include "messages.cpp"
#include "module.cpp"
#include "tensors.cpp"
#include "work.cpp"
