/* hog: a program that disturbs, on one CPU: bursts of 5 to 50 ms of CPU time, idle in
 * between for as long as makes its share of the CPU what was asked.
 *
 *   hog CPU SHARE SEED SECONDS        hog 0 0.3 1 60
 *
 * It ends after so many seconds, at SIGTERM, or with the program that started it, and
 * says on standard error what share it had. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

static volatile sig_atomic_t ended;
static void end(int sig) { (void)sig; ended = 1; }

static double clock_of(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static double between(double low, double high)
{
	return low + (high - low) * drand48();
}

int main(int argc, char **argv)
{
	const double share = argc == 5 ? atof(argv[2]) : 0, seconds = argc == 5 ? atof(argv[4]) : 0;
	if (share <= 0 || share > .9 || seconds <= 0) {
		fprintf(stderr, "usage: hog CPU SHARE SEED SECONDS; SHARE is at most 0.9\n");
		return 2;
	}
	cpu_set_t cpus;
	CPU_ZERO(&cpus);
	CPU_SET(atoi(argv[1]), &cpus);
	if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) {
		perror("hog: sched_setaffinity");
		return 1;
	}
	struct sigaction action = {.sa_handler = end};
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	srand48(atol(argv[3]) * 64 + atoi(argv[1]));

	const double spread = share > .6 ? 1 - share : .4, start = clock_of(CLOCK_MONOTONIC);
	double next = start;
	while (!ended && clock_of(CLOCK_MONOTONIC) - start < seconds) {
		double burst = between(.005, .05), until = clock_of(CLOCK_PROCESS_CPUTIME_ID) + burst;
		while (!ended && clock_of(CLOCK_PROCESS_CPUTIME_ID) < until)
			;
		/* The mean of these factors is 1; the least leaves time to be idle at any share. */
		next += burst / share * between(1 - spread, 1 + spread);
		struct timespec at = {.tv_sec = (time_t)next, .tv_nsec = (next - (time_t)next) * 1e9};
		while (!ended && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
			;
	}
	fprintf(stderr, "hog: CPU %s, share %.3f\n", argv[1], clock_of(CLOCK_PROCESS_CPUTIME_ID) / (clock_of(CLOCK_MONOTONIC) - start));
	return 0;
}
