/* SPDX-License-Identifier: MIT */
/* torch_ring._C: what makes a backend, and what ends all of them. */
#include <torch/csrc/utils/pybind.h>

#include "backend.h"

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module)
{
	module.def("create", &ring::Backend::create,
		   pybind11::call_guard<pybind11::gil_scoped_release>(),
		   "Makes the backend of one process group for this rank.");
	module.def("leave_all", &ring::Backend::leave_all,
		   pybind11::call_guard<pybind11::gil_scoped_release>(),
		   "Says goodbye for all groups that are still there; the process ends.");
	module.def("library_version", &ring_version, "The version of ringccl, 10000 * major + ...");
}
