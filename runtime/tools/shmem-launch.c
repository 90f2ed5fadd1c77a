/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Starts n processes of one program on this machine as the PEs of a job, and waits for them.
 *
 * A launcher makes a unique id, passes it to the PEs with PE number and size, and lives as long as
 * the job, since the hub is a thread of this process. The rest of the file handles the end of the
 * job: no process may be left running, and the first failure is the one that is reported.
 *
 * Each PE is in its own process group, so that its children end with it. Therefore a terminal's
 * Ctrl-C and Ctrl-Z reach only the launcher, which passes them on, and PEs read nothing from the
 * terminal. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <shmem_host/shmem_host.h>

#define MAX_PES 1024
#define GRACE_S 5     /* after a failure, for the other PEs to report it and end */
#define KILL_S 2      /* between SIGTERM and SIGKILL */
#define TIMED_OUT 124 /* exit status, as that of timeout(1) */

enum stage {
	STAGE_RUN,
	STAGE_GRACE, /* a PE has failed or a signal came: the other PEs may end by themselves */
	STAGE_TERM,  /* SIGTERM was sent */
	STAGE_KILL,  /* SIGKILL was sent */
};

typedef struct launch {
	int n_pes;
	double timeout_s; /* 0: none */
	char **program;
	pid_t pids[MAX_PES]; /* 0: not running */
	int n_running;
	int status; /* of the first failure; 0: none */
	enum stage stage;
	double stage_end; /* 0: none */
} launch_t;

static const char usage[] =
	"usage: shmem-launch [-n PES] [-t SECONDS] program [arguments]\n"
	"\n"
	"Run PES processes of a program as one job on this machine.\n"
	"\n"
	"  -n, --pes=PES          how many, 1 .. 1024; default 2\n"
	"  -t, --timeout=SECONDS  end the job after that time, with exit status 124; default: "
	"never\n"
	"  -h, --help             this text\n"
	"\n"
	"Exit status: 0 if all PEs ended with 0. Else that of the first PE that failed, 128 + "
	"signal\n"
	"if a signal ended that PE; 128 + signal if the launcher got the signal and passed it on;\n"
	"1 or 2 if the launcher could not start the job: its line says why.\n"
	"After a failure or a signal the PEs have 5 s to end by themselves.\n"
	"\n"
	"SIGTSTP (Ctrl-Z) stops the PEs and the launcher; SIGCONT (fg, bg) continues them. -t\n"
	"does not count the time while stopped; the library's limits, such as\n"
	"SHMEMH_BOOT_TIMEOUT, count it.\n";

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- arguments ---- */

static int bad_argument(const char *what, const char *value)
{
	fprintf(stderr, "shmem-launch: %s: %s (shmem-launch --help has more)\n", what, value);
	return 2;
}

/* Returns 0; 1 after --help; 2 for bad arguments. */
static int parse(launch_t *l, int argc, char **argv)
{
	static const struct option options[] = {{"pes", required_argument, NULL, 'n'},
						{"timeout", required_argument, NULL, 't'},
						{"help", no_argument, NULL, 'h'},
						{NULL, 0, NULL, 0}};
	char *end;
	long n;
	int c;

	l->n_pes = 2;
	while ((c = getopt_long(argc, argv, "+n:t:h", options, NULL)) != -1) {
		switch (c) {
		case 'n':
			n = strtol(optarg, &end, 10);
			if (end == optarg || *end != '\0' || n < 1 || n > MAX_PES)
				return bad_argument("-n is not a number in 1 .. 1024", optarg);
			l->n_pes = (int)n;
			break;
		case 't':
			l->timeout_s = strtod(optarg, &end);
			if (end == optarg || *end != '\0' || !(l->timeout_s > 0) ||
			    l->timeout_s > 1e9)
				return bad_argument("-t is not a number of seconds", optarg);
			break;
		case 'h':
			fputs(usage, stdout);
			return 1;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (optind == argc)
		return bad_argument("no program given", "name a program");
	l->program = argv + optind;
	return 0;
}

/* ---- children ---- */

static void set_int(const char *name, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	setenv(name, text, 1);
}

/* In the child. Does not return. */
static void run_pe(const launch_t *l, int pe, pid_t launcher, const sigset_t *signals)
{
	int fd = open("/dev/null", O_RDONLY);

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != launcher) /* the launcher died before prctl */
		_exit(1);
	if (fd > STDIN_FILENO) { /* if the caller closed descriptor 0, fd is that one */
		dup2(fd, STDIN_FILENO);
		close(fd);
	}
	set_int("SHMEMH_PE", pe);
	set_int("SHMEMH_LOCAL_PE", pe);
	sigprocmask(SIG_SETMASK, signals, NULL);
	execvp(l->program[0], l->program);
	if (pe == 0 || errno != ENOENT) /* no such file: the same for all PEs */
		fprintf(stderr, "shmem-launch: PE %d: cannot run %s: %s\n", pe, l->program[0],
			strerror(errno));
	_exit(127);
}

static void signal_all(const launch_t *l, int sig)
{
	int pe;

	for (pe = 0; pe < l->n_pes; pe++)
		if (l->pids[pe] != 0)
			kill(-l->pids[pe], sig);
}

static void enter(launch_t *l, enum stage stage, double seconds)
{
	l->stage = stage;
	l->stage_end = now_s() + seconds;
}

static void fail(launch_t *l, int status)
{
	if (l->status == 0)
		l->status = status;
	if (l->stage == STAGE_RUN)
		enter(l, STAGE_GRACE, GRACE_S);
}

static int start(launch_t *l, const sigset_t *signals)
{
	pid_t launcher = getpid();
	int pe;

	for (pe = 0; pe < l->n_pes; pe++) {
		pid_t pid = fork();

		if (pid == 0)
			run_pe(l, pe, launcher, signals);
		if (pid < 0) {
			fprintf(stderr, "shmem-launch: fork of PE %d: %s\n", pe, strerror(errno));
			signal_all(l, SIGKILL);
			return 1;
		}
		/* set it here too: signal_all may run before the child's own call */
		setpgid(pid, pid);
		l->pids[pe] = pid;
		l->n_running++;
	}
	return 0;
}

static void report_end(launch_t *l, int pe, int wait_status)
{
	const char *name;

	if (WIFSIGNALED(wait_status)) {
		name = strsignal(WTERMSIG(wait_status));
		/* No line for PEs that the launcher itself ended. */
		if (l->stage < STAGE_TERM)
			fprintf(stderr, "shmem-launch: PE %d (pid %ld) died by signal %d (%s)\n",
				pe, (long)l->pids[pe], WTERMSIG(wait_status), name ? name : "?");
		fail(l, 128 + WTERMSIG(wait_status));
	} else if (WEXITSTATUS(wait_status) != 0) {
		fprintf(stderr, "shmem-launch: PE %d (pid %ld) exited with %d\n", pe,
			(long)l->pids[pe], WEXITSTATUS(wait_status));
		fail(l, WEXITSTATUS(wait_status));
	}
	l->pids[pe] = 0;
	l->n_running--;
}

static void reap(launch_t *l)
{
	siginfo_t ended = {.si_pid = 0};
	int wait_status;
	int pe;

	while (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid != 0) {
		/* End the processes that the PE has started and left. Not after waitpid: then the
		 * number may belong to another group. */
		kill(-ended.si_pid, SIGKILL);
		waitpid(ended.si_pid, &wait_status, 0);
		for (pe = 0; pe < l->n_pes; pe++)
			if (l->pids[pe] == ended.si_pid)
				report_end(l, pe, wait_status);
		ended.si_pid = 0;
	}
}

/* ---- the end of the job ---- */

static void list_running(const launch_t *l, const char *why)
{
	const char *separator = "";
	int pe;

	fprintf(stderr, "shmem-launch: PE ");
	for (pe = 0; pe < l->n_pes; pe++)
		if (l->pids[pe] != 0) {
			fprintf(stderr, "%s%d", separator, pe);
			separator = ", ";
		}
	fprintf(stderr, " still running %s: ended\n", why);
}

/* Called when stage_end has passed. */
static void next_stage(launch_t *l)
{
	char why[64];

	switch (l->stage) {
	case STAGE_RUN:
		snprintf(why, sizeof(why), "after %g s", l->timeout_s);
		list_running(l, why);
		l->status = TIMED_OUT;
		signal_all(l, SIGTERM);
		enter(l, STAGE_TERM, KILL_S);
		break;
	case STAGE_GRACE:
		snprintf(why, sizeof(why), "%d s after the first failure or signal", GRACE_S);
		list_running(l, why);
		signal_all(l, SIGTERM);
		enter(l, STAGE_TERM, KILL_S);
		break;
	case STAGE_TERM:
	case STAGE_KILL:
		signal_all(l, SIGKILL);
		enter(l, STAGE_KILL, KILL_S);
		break;
	}
}

/* A signal requests the end of the job. While the job runs it is passed on; once the job is ending,
 * after a signal or the failure of a PE, it kills. */
static void pass_on(launch_t *l, int sig)
{
	if (l->stage != STAGE_RUN) {
		signal_all(l, SIGKILL);
		enter(l, STAGE_KILL, KILL_S);
		return;
	}
	signal_all(l, sig);
	fail(l, 128 + sig);
}

/* Stop the PEs and this process, which runs the hub, until it gets SIGCONT. If this process is in
 * an orphaned process group, SIGTSTP does not stop it, and the PEs go on, too. */
static void stop_all(launch_t *l)
{
	const double stopped_at = now_s();
	sigset_t stop;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	signal_all(l, SIGTSTP);
	raise(SIGTSTP); /* pending, since it is blocked */
	sigprocmask(SIG_UNBLOCK, &stop, NULL);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	signal_all(l, SIGCONT);
	if (l->stage_end != 0)
		l->stage_end += now_s() - stopped_at;
}

static void wait_all(launch_t *l, const sigset_t *wanted)
{
	while (l->n_running > 0) {
		struct timespec t = {.tv_sec = 3600};
		int sig;

		if (l->stage_end != 0) {
			double left = l->stage_end - now_s();

			if (left <= 0) {
				next_stage(l);
				continue;
			}
			if (left < 3600) {
				t.tv_sec = (time_t)left;
				t.tv_nsec = (long)((left - (double)t.tv_sec) * 1e9);
			}
		}
		sig = sigtimedwait(wanted, NULL, &t);
		if (sig == SIGTSTP)
			stop_all(l);
		else if (sig > 0 && sig != SIGCHLD)
			pass_on(l, sig);
		reap(l);
	}
}

/* The job's identity, for the children. The hub need not be reachable from other machines. */
static int set_environment(const launch_t *l)
{
	char text[SHMEMH_UNIQUEID_TEXT_NBYTES];
	shmemh_uniqueid_t id;
	int has_ifname = getenv("SHMEMH_IFNAME") != NULL;
	int status;

	if (!has_ifname)
		setenv("SHMEMH_IFNAME", "lo", 1);
	status = shmemh_get_uniqueid(l->n_pes, &id);
	if (!has_ifname)
		unsetenv("SHMEMH_IFNAME");
	if (status != SHMEMH_OK) {
		fprintf(stderr, "shmem-launch: %s\n", shmemh_error_text(NULL));
		return 1;
	}
	shmemh_uniqueid_to_text(&id, text);
	setenv("SHMEMH_UNIQUEID", text, 1);
	set_int("SHMEMH_NPES", l->n_pes);
	return 0;
}

/* The signals that wait_all takes. A blocked signal is queued even if its action is SIG_IGN: one
 * that the caller ignores, as nohup and shells in the background do, must not end the job. Nor does
 * a SIGTSTP that the caller ignores stop it. */
static void want_signals(sigset_t *wanted)
{
	static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};

	/* If the caller ignored SIGCHLD, Linux would reap PEs without their exit status. */
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(wanted);
	sigaddset(wanted, SIGCHLD);
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++) {
		struct sigaction action;

		if (sigaction(passed_on[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(wanted, passed_on[i]);
	}
}

int main(int argc, char **argv)
{
	launch_t l = {.stage = STAGE_RUN};
	sigset_t wanted;
	sigset_t signals;
	int status = parse(&l, argc, argv);

	if (status != 0)
		return status == 1 ? 0 : status;
	/* wait_all takes signals one by one: no handler, and no signal can be missed. */
	want_signals(&wanted);
	sigprocmask(SIG_BLOCK, &wanted, &signals);
	if (set_environment(&l) != 0)
		return 1;
	if (l.timeout_s > 0)
		l.stage_end = now_s() + l.timeout_s;
	if (start(&l, &signals) != 0)
		return 1;
	wait_all(&l, &wanted);
	return l.status;
}
