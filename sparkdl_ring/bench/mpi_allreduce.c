/* Time of MPI_Allreduce (float, sum, in place) by size, as lines "bytes seconds": one sample a line, the
 * maximum over the ranks. Buffers are rewritten by their owner before each call from `rewritten` bytes on.
 * usage: mpi_allreduce sample_s coscheduled(0|1) rewritten bytes... */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static float *buffer;

static double now(void) { return MPI_Wtime(); }

static void fill(long count, float value) {
  for (long i = 0; i < count; ++i) buffer[i] = value;
}

static double once(long count, float value) {
  fill(count, value);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now();
  MPI_Allreduce(MPI_IN_PLACE, buffer, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  return now() - begin;
}

static double in_a_row(long count, int calls) {
  fill(count, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now();
  for (int i = 0; i < calls; ++i) {
    MPI_Allreduce(MPI_IN_PLACE, buffer, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
  return (now() - begin) / calls;
}

static int num_calls(long count, double sample_s) {
  double best = once(count, 1);
  for (int i = 0; i < 2; ++i) {
    const double seconds = once(count, 1);
    if (seconds < best) best = seconds;
  }
  int calls = best < sample_s / 2000 ? 2000 : (int)(sample_s / best);
  if (calls < 1) calls = 1;
  MPI_Bcast(&calls, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return calls;
}

static void sample(long bytes, double sample_s, long rewritten) {
  const long count = bytes / (long)sizeof(float);
  const int calls = num_calls(count, sample_s);
  double seconds = 0;
  if (bytes < rewritten) {
    seconds = in_a_row(count, calls);
  } else {
    for (int i = 0; i < calls; ++i) seconds += once(count, 1);
    seconds /= calls;
  }
  double slowest = 0;
  int rank = 0;
  MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("%ld %.9f\n", bytes, slowest);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  const double sample_s = atof(argv[1]);
  const int coscheduled = atoi(argv[2]);
  const long rewritten = atol(argv[3]);
  if (coscheduled) setpriority(PRIO_PROCESS, 0, -20);
  long most = sizeof(float);
  for (int i = 4; i < argc; ++i) most = atol(argv[i]) > most ? atol(argv[i]) : most;
  buffer = malloc((size_t)most);
  for (int i = 4; i < argc; ++i) {
    const double begin = now();
    sample(atol(argv[i]), sample_s, rewritten);
    if (coscheduled) usleep((useconds_t)((now() - begin) * 1e6));
  }
  free(buffer);
  MPI_Finalize();
  return 0;
}
