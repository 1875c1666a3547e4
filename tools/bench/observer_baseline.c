/* The least an observer can cost: the same reads at the same rates and deadlines, and nothing done with them.
 *
 * usage: observer_baseline SECONDS PRIORITY LATENESS_FILE SPEC...
 *   SPEC  PERIOD_NS:JITTER:PATH[:REGISTERS]
 *         PATH is read by pread from a kept descriptor, or, if REGISTERS is not 0, mapped and that many 32-bit words read.
 *   PRIORITY  of SCHED_FIFO; 0 for the scheduling policy it was started under.
 *
 * Writes the lateness of every tick of the first SPEC, in ns as int64, and prints the CPU time of the loop in ns.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MOST 32
#define SECOND 1000000000LL

struct track {
    int64_t period, slot, due, next;
    int jitter, descriptor, registers;
    volatile uint32_t *page;
};

static uint64_t random_state = 88172645463325252ULL;

static double uniform(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(random_state >> 11) / 9007199254740992.0;
}

static int64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * SECOND + time.tv_nsec;
}

static int64_t deadline(const struct track *track, int64_t slot)
{
    return slot + (track->jitter ? (int64_t)(uniform() * (double)track->period) : 0);
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void open_track(struct track *track, const char *spec)
{
    char path[4096];
    long long period;
    track->registers = 0;
    if (sscanf(spec, "%lld:%d:%4095[^:]:%d", &period, &track->jitter, path, &track->registers) < 3)
        fail(spec);
    track->period = period;
    track->descriptor = open(path, track->registers ? O_RDWR : O_RDONLY);
    if (track->descriptor < 0)
        fail(path);
    if (track->registers) {
        void *page = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, track->descriptor, 0);
        if (page == MAP_FAILED)
            fail(path);
        track->page = page;
    }
}

int main(int argc, char **argv)
{
    struct track tracks[MOST];
    int count = argc - 4;
    if (argc < 5 || count > MOST)
        return 64;
    for (int i = 0; i < count; i++)
        open_track(&tracks[i], argv[4 + i]);
    struct sched_param priority = {.sched_priority = atoi(argv[2])};
    if (priority.sched_priority && sched_setscheduler(0, SCHED_FIFO, &priority))
        fail("sched_setscheduler");

    int64_t start = now(CLOCK_MONOTONIC), stop = start + (int64_t)(atof(argv[1]) * SECOND);
    size_t room = (size_t)((stop - start) / tracks[0].period + 2), ticks = 0;
    int64_t *lateness = malloc(room * sizeof *lateness);
    memset(lateness, 0, room * sizeof *lateness);
    for (int i = 0; i < count; i++) {
        tracks[i].slot = start;
        tracks[i].due = deadline(&tracks[i], start);
        tracks[i].next = deadline(&tracks[i], start + tracks[i].period);
    }
    int64_t cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    static char buffer[4096];
    for (;;) {
        struct track *track = &tracks[0];
        for (int i = 1; i < count; i++)
            if (tracks[i].due < track->due)
                track = &tracks[i];
        if (track->due >= stop)
            break;
        struct timespec due = {track->due / SECOND, track->due % SECOND};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
        int64_t begin = now(CLOCK_MONOTONIC);
        if (track == &tracks[0] && ticks < room)
            lateness[ticks++] = begin - track->due;
        while (begin >= track->next) {
            track->slot += track->period;
            track->next = deadline(track, track->slot + track->period);
        }
        if (track->page)
            for (int i = 0; i < track->registers; i++)
                (void)track->page[i];
        else if (pread(track->descriptor, buffer, sizeof buffer, 0) < 0)
            fail("pread");
        (void)now(CLOCK_MONOTONIC);
        track->slot += track->period;
        track->due = track->next;
        track->next = deadline(track, track->slot + track->period);
    }
    printf("%lld\n", (long long)(now(CLOCK_PROCESS_CPUTIME_ID) - cpu));
    int output = open(argv[3], O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (output < 0 || write(output, lateness, ticks * sizeof *lateness) < 0)
        fail(argv[3]);
    return 0;
}
