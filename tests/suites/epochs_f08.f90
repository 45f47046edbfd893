! SPDX-License-Identifier: BSD-3-Clause
! Epochs that return requests, from Fortran: fences, exposures and locks in flight round a ring of processes.
program epochs_f08
  use mpi_f08
  use mpix_smartint_f08
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  implicit none
  integer, parameter :: epochs = 6
  integer :: rank, ranks, right, left, k, n, wrong
  integer, pointer :: memory(:)
  integer, asynchronous :: values(epochs)
  type(c_ptr) :: base
  type(MPI_Win) :: win
  type(MPI_Group) :: world, to, from
  type(MPI_Request) :: requests(4 * epochs)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  right = mod(rank + 1, ranks)
  left = mod(rank + ranks - 1, ranks)
  call MPI_Win_allocate(int(4 * epochs, MPI_ADDRESS_KIND), 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
  call c_f_pointer(base, memory, [epochs])
  wrong = 0

  call MPIX_Win_ifence(0, win, requests(1))
  do k = 1, epochs
    call store(100)
    call MPIX_Win_ifence(0, win, requests(k + 1))
  end do
  call finish(epochs + 1, 100)
  call MPI_Win_fence(MPI_MODE_NOSUCCEED, win)

  n = 0
  do k = 1, epochs
    call MPIX_Win_ilock(MPI_LOCK_EXCLUSIVE, right, 0, win, requests(n + 1))
    call store(200)
    call MPIX_Win_iflush(right, win, requests(n + 2))
    call MPIX_Win_iunlock(right, win, requests(n + 3))
    n = n + 3
  end do
  call finish(n, 200)

  n = 0
  do k = 1, epochs
    call MPIX_Win_ilock_all(0, win, requests(n + 1))
    call store(300)
    call MPIX_Win_iunlock_all(win, requests(n + 2))
    n = n + 2
  end do
  call finish(n, 300)

  call MPI_Comm_group(MPI_COMM_WORLD, world)
  call MPI_Group_incl(world, 1, [right], to)
  call MPI_Group_incl(world, 1, [left], from)
  n = 0
  do k = 1, epochs
    call MPIX_Win_ipost(from, 0, win, requests(n + 1))
    call MPIX_Win_istart(to, 0, win, requests(n + 2))
    call store(400)
    call MPIX_Win_icomplete(win, requests(n + 3))
    call MPIX_Win_iwait(win, requests(n + 4))
    n = n + 4
  end do
  call finish(n, 400)

  call MPI_Group_free(world)
  call MPI_Group_free(to)
  call MPI_Group_free(from)
  call MPI_Win_free(win)
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0 .and. wrong == 0) print '(a)', 'ok'
  if (rank == 0 .and. wrong /= 0) print '(a,i0,a)', 'FAILED: ', wrong, ' values are wrong'
  call MPI_Finalize()
  if (wrong /= 0) stop 1

contains

  subroutine store(from)
    integer, intent(in) :: from
    values(k) = from + k + rank
    call MPI_Put(values(k), 1, MPI_INTEGER, right, int(k - 1, MPI_ADDRESS_KIND), 1, MPI_INTEGER, win)
  end subroutine

  subroutine finish(count, from)
    integer, intent(in) :: count, from
    integer :: i
    call MPI_Waitall(count, requests(1:count), MPI_STATUSES_IGNORE)
    call MPI_Barrier(MPI_COMM_WORLD)
    do i = 1, epochs
      if (memory(i) /= from + i + left) wrong = wrong + 1
    end do
    call MPI_Barrier(MPI_COMM_WORLD)
  end subroutine

end program
