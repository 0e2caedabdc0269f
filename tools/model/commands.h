/* SPDX-License-Identifier: MIT */
/* The commands of ring_model; argv[0] is the command's name. They return the exit status. */
#ifndef MODEL_COMMANDS_H
#define MODEL_COMMANDS_H

int model_fit_command(int argc, char **argv);
int model_predict_command(int argc, char **argv);
int model_simulate_command(int argc, char **argv);
int model_choose_command(int argc, char **argv);
int model_ddp_command(int argc, char **argv);

#endif
