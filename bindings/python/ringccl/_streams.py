# SPDX-License-Identifier: MIT
"""Calls that are noted first, and calls that are waited for later: groups and streams hold their buffers until then."""
import contextlib
import ctypes
import threading

from ._library import AGAIN, InvalidArgument, check, library


# ---- groups ----------------------------------------------------------------------------------------

class Group(threading.local):
    """What the calling thread's group holds until it ends."""

    depth = 0
    buffers = ()


the_group = Group()


def release(buffers):
    """All of them; then raises what one has raised, as those of operations do that are functions."""
    raised = None
    for buffer in buffers:
        try:
            buffer.release()
        except BaseException as error:
            raised = error
    if raised is not None:
        raise raised


@contextlib.contextmanager
def group():
    """Calls inside are noted, and run together at its end: sends and receives at the same time, then collectives in
    order, those of several communicators beside one another. If one is refused, or raises, none of them is made."""
    check(library.ring_group_start())
    if the_group.depth == 0:
        the_group.buffers = []
    the_group.depth += 1
    try:
        yield
    except BaseException:
        library.ring_barrier(None, None)  # a call that is refused, and the group with it
        end_group()
        raise
    check(end_group())


def end_group():
    the_group.depth -= 1
    status = library.ring_group_end()
    if the_group.depth == 0:
        buffers, the_group.buffers = the_group.buffers, ()
        release(buffers)
    return status


# ---- streams ---------------------------------------------------------------------------------------

class Handle:
    """A call on a stream. Its buffers are the call's until it is complete."""

    def __init__(self, stream, position, buffers):
        self._stream, self._position, self._buffers = stream, position, buffers

    def wait(self):
        """Until it is complete; any thread may. Raises what it failed of, as does every handle behind it on its stream."""
        self._end(library.ring_stream_wait(self._stream.pointer(), self._position))

    def test(self):
        """Whether it is complete, without waiting. Raises what it failed of."""
        status = library.ring_stream_test(self._stream.pointer(), self._position)
        if status == AGAIN:
            return False
        self._end(status)
        return True

    def open_fd(self):
        """A descriptor for select, poll or asyncio, readable once it is complete; the caller's to os.close()."""
        fd = ctypes.c_int()
        check(library.ring_stream_fd(self._stream.pointer(), self._position, ctypes.byref(fd)),
              self._stream.comm.pointer())
        return fd.value

    def _end(self, status):
        self.let_go()
        check(status, self._stream.comm.pointer())

    def let_go(self):
        buffers, self._buffers = self._buffers, ()
        release(buffers)

    Wait = wait
    Test = test


class Stream:
    """Calls on it return at once, as a Handle, and run in the order in which a communicator's calls are made."""

    def __init__(self, comm, cuda_stream=None):
        pointer = ctypes.c_void_p()
        if cuda_stream is None:
            check(library.ring_stream_create(comm.pointer(), ctypes.byref(pointer)), comm.pointer())
        else:
            check(library.ring_stream_from_cuda(comm.pointer(), cuda_stream, ctypes.byref(pointer)), comm.pointer())
        self.comm, self._pointer, self._handles = comm, pointer, []

    def pointer(self):
        if not self._pointer:
            raise InvalidArgument("the stream was closed")
        return self._pointer

    def note(self, buffers):
        """Handles that nobody waits for give their buffers back when a later call finds them complete."""
        handle = Handle(self, library.ring_stream_position(self._pointer), buffers)
        done = [old for old in self._handles if library.ring_stream_test(self._pointer, old._position) != AGAIN]
        self._handles = [old for old in self._handles if old not in done] + [handle]
        for old in done:
            old.let_go()
        return handle

    def close(self):
        """Waits for its calls."""
        if self._pointer:
            library.ring_stream_destroy(self._pointer)
        handles, self._pointer, self._handles = self._handles, None, []
        for handle in handles:
            handle.let_go()
