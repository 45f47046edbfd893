! SPDX-License-Identifier: BSD-3-Clause
! SPDX-FileCopyrightText: 2026 The smartint authors
!
! mpix_smartint.h for programs that use mpi_f08. A module fits one compiler only, so this is its source: compile
! it with the program's, and link with -lmpix_smartint.
module mpix_smartint_f08
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
  private
  public :: MPIX_Win_ifence, MPIX_Win_istart, MPIX_Win_icomplete
  public :: MPIX_Win_ipost, MPIX_Win_iwait, MPIX_Win_ilock
  public :: MPIX_Win_iunlock, MPIX_Win_ilock_all, MPIX_Win_iunlock_all
  public :: MPIX_Win_iflush

  interface
    function smartint_f_ifence(assert, win, request) bind(c) result(error)
      import :: c_int
      integer(c_int), value :: assert, win
      integer(c_int), intent(out) :: request
      integer(c_int) :: error
    end function
    function smartint_f_istart(group, assert, win, request) bind(c) result(error)
      import :: c_int
      integer(c_int), value :: group, assert, win
      integer(c_int), intent(out) :: request
      integer(c_int) :: error
    end function
    function smartint_f_icomplete(win, request) bind(c) result(error)
      import :: c_int
      integer(c_int), value :: win
      integer(c_int), intent(out) :: request
      integer(c_int) :: error
    end function
    function smartint_f_ipost(group, assert, win, request) bind(c) result(error)
      import :: c_int
      integer(c_int), value :: group, assert, win
      integer(c_int), intent(out) :: request
      integer(c_int) :: error
    end function
    function smartint_f_iwait(win, request) bind(c) result(error)
      import :: c_int
      integer(c_int), value :: win
      integer(c_int), intent(out) :: request
      integer(c_int) :: error
    end function
    function smartint_f_ilock(lock_type, rank, assert, win, request) bind(c) result(error)
      import :: c_int
      integer(c_int), value :: lock_type, rank, assert, win
      integer(c_int), intent(out) :: request
      integer(c_int) :: error
    end function
    function smartint_f_iunlock(rank, win, request) bind(c) result(error)
      import :: c_int
      integer(c_int), value :: rank, win
      integer(c_int), intent(out) :: request
      integer(c_int) :: error
    end function
    function smartint_f_ilock_all(assert, win, request) bind(c) result(error)
      import :: c_int
      integer(c_int), value :: assert, win
      integer(c_int), intent(out) :: request
      integer(c_int) :: error
    end function
    function smartint_f_iunlock_all(win, request) bind(c) result(error)
      import :: c_int
      integer(c_int), value :: win
      integer(c_int), intent(out) :: request
      integer(c_int) :: error
    end function
    function smartint_f_iflush(rank, win, request) bind(c) result(error)
      import :: c_int
      integer(c_int), value :: rank, win
      integer(c_int), intent(out) :: request
      integer(c_int) :: error
    end function
  end interface

contains

  subroutine MPIX_Win_ifence(assert, win, request, ierror)
    integer, intent(in) :: assert
    type(MPI_Win), intent(in) :: win
    type(MPI_Request), intent(out) :: request
    integer, optional, intent(out) :: ierror
    integer(c_int) :: error
    error = smartint_f_ifence(int(assert, c_int), win%MPI_VAL, request%MPI_VAL)
    if (present(ierror)) ierror = error
  end subroutine

  subroutine MPIX_Win_istart(group, assert, win, request, ierror)
    type(MPI_Group), intent(in) :: group
    integer, intent(in) :: assert
    type(MPI_Win), intent(in) :: win
    type(MPI_Request), intent(out) :: request
    integer, optional, intent(out) :: ierror
    integer(c_int) :: error
    error = smartint_f_istart(group%MPI_VAL, int(assert, c_int), win%MPI_VAL, request%MPI_VAL)
    if (present(ierror)) ierror = error
  end subroutine

  subroutine MPIX_Win_icomplete(win, request, ierror)
    type(MPI_Win), intent(in) :: win
    type(MPI_Request), intent(out) :: request
    integer, optional, intent(out) :: ierror
    integer(c_int) :: error
    error = smartint_f_icomplete(win%MPI_VAL, request%MPI_VAL)
    if (present(ierror)) ierror = error
  end subroutine

  subroutine MPIX_Win_ipost(group, assert, win, request, ierror)
    type(MPI_Group), intent(in) :: group
    integer, intent(in) :: assert
    type(MPI_Win), intent(in) :: win
    type(MPI_Request), intent(out) :: request
    integer, optional, intent(out) :: ierror
    integer(c_int) :: error
    error = smartint_f_ipost(group%MPI_VAL, int(assert, c_int), win%MPI_VAL, request%MPI_VAL)
    if (present(ierror)) ierror = error
  end subroutine

  subroutine MPIX_Win_iwait(win, request, ierror)
    type(MPI_Win), intent(in) :: win
    type(MPI_Request), intent(out) :: request
    integer, optional, intent(out) :: ierror
    integer(c_int) :: error
    error = smartint_f_iwait(win%MPI_VAL, request%MPI_VAL)
    if (present(ierror)) ierror = error
  end subroutine

  subroutine MPIX_Win_ilock(lock_type, rank, assert, win, request, ierror)
    integer, intent(in) :: lock_type, rank, assert
    type(MPI_Win), intent(in) :: win
    type(MPI_Request), intent(out) :: request
    integer, optional, intent(out) :: ierror
    integer(c_int) :: error
    error = smartint_f_ilock(int(lock_type, c_int), int(rank, c_int), int(assert, c_int), win%MPI_VAL, request%MPI_VAL)
    if (present(ierror)) ierror = error
  end subroutine

  subroutine MPIX_Win_iunlock(rank, win, request, ierror)
    integer, intent(in) :: rank
    type(MPI_Win), intent(in) :: win
    type(MPI_Request), intent(out) :: request
    integer, optional, intent(out) :: ierror
    integer(c_int) :: error
    error = smartint_f_iunlock(int(rank, c_int), win%MPI_VAL, request%MPI_VAL)
    if (present(ierror)) ierror = error
  end subroutine

  subroutine MPIX_Win_ilock_all(assert, win, request, ierror)
    integer, intent(in) :: assert
    type(MPI_Win), intent(in) :: win
    type(MPI_Request), intent(out) :: request
    integer, optional, intent(out) :: ierror
    integer(c_int) :: error
    error = smartint_f_ilock_all(int(assert, c_int), win%MPI_VAL, request%MPI_VAL)
    if (present(ierror)) ierror = error
  end subroutine

  subroutine MPIX_Win_iunlock_all(win, request, ierror)
    type(MPI_Win), intent(in) :: win
    type(MPI_Request), intent(out) :: request
    integer, optional, intent(out) :: ierror
    integer(c_int) :: error
    error = smartint_f_iunlock_all(win%MPI_VAL, request%MPI_VAL)
    if (present(ierror)) ierror = error
  end subroutine

  subroutine MPIX_Win_iflush(rank, win, request, ierror)
    integer, intent(in) :: rank
    type(MPI_Win), intent(in) :: win
    type(MPI_Request), intent(out) :: request
    integer, optional, intent(out) :: ierror
    integer(c_int) :: error
    error = smartint_f_iflush(int(rank, c_int), win%MPI_VAL, request%MPI_VAL)
    if (present(ierror)) ierror = error
  end subroutine

end module
