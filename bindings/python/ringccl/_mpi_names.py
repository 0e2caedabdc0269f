# SPDX-License-Identifier: MIT
"""The names that users of mpi4py look for, on buffers, with its order of arguments. There are no tags."""


from ._buffers import Type
from ._streams import group


class InPlace:
    """Instead of sendbuf (recvbuf at the scattering root): the data lie where they are to be."""

    def __repr__(self):
        return "IN_PLACE"


IN_PLACE = InPlace()
SUM = 0


def parts(spec):
    """(buffer, counts, begins) of mpi4py's [buffer, counts], [buffer, counts, displs] or [buffer, (counts, displs)],
    each with a type behind it or without."""
    if spec is None:
        return None, None, None
    buffer, *rest = spec
    type = rest.pop() if isinstance(rest[-1], Type) else None
    counts, begins = rest[0] if len(rest) == 1 and isinstance(rest[0][0], (list, tuple)) else (*rest, None)[:2]
    return (buffer if type is None else (buffer, type)), counts, begins


class Request:
    """Several handles at once."""

    @staticmethod
    def Waitall(requests):
        for request in requests:
            request.wait()


class MpiNames:
    def Get_rank(self):
        return self.rank

    def Get_size(self):
        return self.size

    def Barrier(self):
        self.barrier()

    def Free(self):
        self.close()

    def Abort(self, errorcode=1):
        self.abort()

    def Split(self, color=0, key=0):
        return self.split(color, key)

    def Allreduce(self, sendbuf, recvbuf, op=SUM):
        in_place = sendbuf is IN_PLACE
        self.all_reduce(recvbuf if in_place else sendbuf, None if in_place else recvbuf, op)

    def Iallreduce(self, sendbuf, recvbuf, op=SUM):
        in_place = sendbuf is IN_PLACE
        return self.all_reduce(recvbuf if in_place else sendbuf, None if in_place else recvbuf, op,
                               stream=self.stream_for("collectives"))

    def Reduce(self, sendbuf, recvbuf, op=SUM, root=0):
        in_place = sendbuf is IN_PLACE
        self.reduce(recvbuf if in_place else sendbuf, None if in_place else recvbuf, op, root)

    def Reduce_scatter_block(self, sendbuf, recvbuf, op=SUM):
        self.reduce_scatter(sendbuf, recvbuf, op)

    def Bcast(self, buf, root=0):
        self.broadcast(buf, root)

    def Ibcast(self, buf, root=0):
        return self.broadcast(buf, root, stream=self.stream_for("collectives"))

    def Allgather(self, sendbuf, recvbuf):
        self.all_gather(sendbuf, recvbuf)

    def Iallgather(self, sendbuf, recvbuf):
        return self.all_gather(sendbuf, recvbuf, stream=self.stream_for("collectives"))

    def Gather(self, sendbuf, recvbuf, root=0):
        self.gather(sendbuf, recvbuf, root)

    def Scatter(self, sendbuf, recvbuf, root=0):
        self.scatter(sendbuf, recvbuf, root)

    def Alltoall(self, sendbuf, recvbuf):
        self.all_to_all(sendbuf, recvbuf)

    def Reduce_scatter(self, sendbuf, recvbuf, recvcounts, op=SUM):
        self.reduce_scatterv(sendbuf, recvbuf, recvcounts, op)

    def Allgatherv(self, sendbuf, recvbuf):
        buffer, counts, begins = parts(recvbuf)
        self.all_gatherv(sendbuf, buffer, counts, begins)

    def Gatherv(self, sendbuf, recvbuf, root=0):
        self.gatherv(sendbuf, *parts(recvbuf), root)

    def Scatterv(self, sendbuf, recvbuf, root=0):
        buffer, counts, begins = parts(sendbuf)
        self.scatterv(buffer, recvbuf, counts, begins, root)

    def Alltoallv(self, sendbuf, recvbuf):
        send, send_counts, send_begins = parts(sendbuf)
        recv, recv_counts, recv_begins = parts(recvbuf)
        self.all_to_allv(send, send_counts, recv, recv_counts, send_begins, recv_begins)

    def Send(self, buf, dest):
        self.send(buf, dest)

    def Recv(self, buf, source):
        self.recv(buf, source)

    def Isend(self, buf, dest):
        return self.send(buf, dest, stream=self.stream_for(("to", dest)))

    def Irecv(self, buf, source):
        return self.recv(buf, source, stream=self.stream_for(("from", source)))

    def Sendrecv(self, sendbuf, dest, recvbuf, source):
        with group():
            self.send(sendbuf, dest)
            self.recv(recvbuf, source)
