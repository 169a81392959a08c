(** A claim about the privacy of DP-SGD, checked by the Coq kernel.

    The run, fixed batch size and replace adjacency ($steps steps in all):
$run_comment
    Claimed: its single-pair Renyi bound at order $order gives epsilon <= $epsilon at delta = $delta.

    What compiling this file proves:
    - claim: the number that the definitions below call epsilon is at most $epsilon. They are exact: every
      number is a rational, every function the real one; interval encloses them with outward rounding.
    - moment_is_expectation: the finite sum called moment is E (1 - p + p exp (D Z - D^2/2))^alpha, D = 2/sigma,
      for Z normal with mean 0 and variance 1. Of the expectation E it uses only that it is linear and that
      E exp (t Z) = exp (t^2/2).
    What it does not prove, and is needed to conclude that the run is ($epsilon, $delta)-DP:
    - that no step has a larger Renyi divergence of order alpha than ln moment / (alpha - 1), for any two datasets
      that differ in one record (the domination theorem: sampling probability p = batch size / dataset size, each
      batch a fresh uniform subset; gradients clipped to norm C; noise of standard deviation sigma C on their sum);
    - that Renyi divergences of the steps add up (Mironov 2017, Proposition 1);
    - that a Renyi divergence implies (epsilon, delta)-DP by the formula of epsilon (Balle et al. 2020, Theorem 21);
    - that the training program does what is described here.

    Check it by: coqc FILE (Coq 8.16, coq-interval 4.6). It declares no axiom and admits nothing. It rests on
    - the axioms of the standard library's real numbers: ClassicalDedekindReals.sig_forall_dec and sig_not_dec,
      FunctionalExtensionality.functional_extensionality_dep, Classical_Prop.classic;
    - the kernel's 63-bit integers, in which interval computes: PrimInt63 and their specification in Uint63.
    Print Assumptions claim lists them (in some seconds). *)

From Coq Require Import Reals List ZArith Lia.
From Interval Require Import Tactic.
Import ListNotations.
Open Scope R_scope.

(** * The definitions *)

Record phase := { sampling_probability : R; noise_multiplier : R; steps : Z }.

(** C alpha k is the standard library's binomial coefficient; sum_f_R0 f n is f 0 + ... + f n. *)
Definition moment (alpha : nat) (p sigma : R) : R :=
  sum_f_R0 (fun k => C alpha k * p ^ k * (1 - p) ^ (alpha - k)
                     * exp (INR k * (INR k - 1) / 2 * (2 / sigma) ^ 2)) alpha.

(** One step's Renyi divergence of order alpha, in nats. *)
Definition rdp (alpha : nat) (ph : phase) : R :=
  ln (moment alpha (sampling_probability ph) (noise_multiplier ph)) / (INR alpha - 1).

Definition total_rdp (alpha : nat) (run : list phase) : R :=
  fold_right (fun ph total => IZR (steps ph) * rdp alpha ph + total) 0 run.

(** The epsilon that it implies at delta. *)
Definition epsilon (alpha : nat) (run : list phase) (delta : R) : R :=
  total_rdp alpha run + ln (1 - 1 / INR alpha) - ln (INR alpha * delta) / (INR alpha - 1).

Definition run : list phase :=
  [$run].

(** * The sum is the moment

    The expectation of a standard normal, extended linearly to all functions, is such an E. *)

Section Gaussian_moment.

  Variable E : (R -> R) -> R.
  Hypothesis E_ext : forall f g, (forall z, f z = g z) -> E f = E g.
  Hypothesis E_plus : forall f g, E (fun z => f z + g z) = E f + E g.
  Hypothesis E_scal : forall c f, E (fun z => c * f z) = c * E f.
  Hypothesis E_exp : forall t, E (fun z => exp (t * z)) = exp (t ^ 2 / 2).

  Lemma E_sum : forall (c : nat -> R) (f : nat -> R -> R) n,
    E (fun z => sum_f_R0 (fun k => c k * f k z) n) = sum_f_R0 (fun k => c k * E (f k)) n.
  Proof.
    intros c f n; induction n as [|n IH]; simpl; [apply E_scal|].
    now rewrite E_plus, IH, E_scal.
  Qed.

  Lemma exp_pow : forall x k, exp x ^ k = exp (INR k * x).
  Proof.
    intros x k; induction k as [|k IH]; [now simpl; rewrite Rmult_0_l, exp_0|].
    rewrite S_INR, <- tech_pow_Rmult, IH, <- exp_plus; f_equal; ring.
  Qed.

  Theorem moment_is_expectation : forall alpha p sigma,
    let D := 2 / sigma in
    E (fun z => (1 - p + p * exp (D * z - D ^ 2 / 2)) ^ alpha) = moment alpha p sigma.
  Proof.
    intros alpha p sigma D; unfold moment; fold D.
    rewrite (E_ext _ (fun z => sum_f_R0 (fun k => C alpha k * p ^ k * (1 - p) ^ (alpha - k)
                                                  * exp (INR k * (- D ^ 2 / 2)) * exp (INR k * D * z)) alpha)).
    - rewrite E_sum; apply sum_eq; intros k _.
      rewrite E_exp, Rmult_assoc, <- exp_plus; do 2 f_equal; field.
    - intros z; rewrite Rplus_comm, binomial; apply sum_eq; intros k _.
      replace (D * z - D ^ 2 / 2) with (- D ^ 2 / 2 + D * z) by field.
      rewrite exp_plus, !Rpow_mult_distr, !exp_pow, (Rmult_assoc (INR k)); ring.
  Qed.

End Gaussian_moment.

(** * The binomial coefficients, by Pascal's triangle in integers *)

Fixpoint next_row (left : Z) (row : list Z) : list Z :=
  match row with [] => [left] | c :: rest => (left + c)%Z :: next_row c rest end.

Definition pascal_row (n : nat) : list Z := Nat.iter n (next_row 0) [1%Z].

Lemma nth_next_row : forall row left k,
  nth k (next_row left row) 0%Z = (nth k (left :: row) 0 + nth k row 0)%Z.
Proof.
  induction row as [|c rest IH]; intros left [|k]; try apply IH; simpl; [lia | destruct k |]; reflexivity.
Qed.

Lemma length_pascal_row : forall n, length (pascal_row n) = S n.
Proof.
  assert (next : forall row left, length (next_row left row) = S (length row)) by (induction row; simpl; auto).
  induction n; simpl; [|rewrite next; f_equal]; auto.
Qed.

Lemma C_0 : forall n, C n 0 = 1.
Proof. intros n; unfold C; rewrite Nat.sub_0_r; simpl; field; apply INR_fact_neq_0. Qed.

Lemma C_n : forall n, C n n = 1.
Proof. intros n; now rewrite pascal_step1, Nat.sub_diag, C_0. Qed.

Lemma pascal_row_C : forall n k, (k <= n)%nat -> IZR (nth k (pascal_row n) 0%Z) = C n k.
Proof.
  induction n as [|n IH]; intros [|k] Hk; try lia.
  - now rewrite C_0.
  - simpl; rewrite nth_next_row; simpl; rewrite IH by lia; now rewrite !C_0.
  - simpl; rewrite nth_next_row, plus_IZR; simpl; rewrite IH by lia.
    destruct (Nat.eq_dec k n) as [->|]; [|rewrite IH by lia; apply pascal; lia].
    rewrite nth_overflow by (rewrite length_pascal_row; lia); rewrite !C_n; ring.
Qed.

(** The form that interval evaluates: exponents in Z, which it reads in binary. *)
Lemma moment_row : forall alpha p sigma,
  moment alpha p sigma = sum_f_R0 (fun k =>
    IZR (nth k (pascal_row alpha) 0%Z) * powerRZ p (Z.of_nat k) * powerRZ (1 - p) (Z.of_nat (alpha - k))
    * exp (IZR (Z.of_nat k * (Z.of_nat k - 1)) / 2 * (2 / sigma) ^ 2)) alpha.
Proof.
  intros; apply sum_eq; intros k Hk.
  now rewrite pascal_row_C, <- !pow_powerRZ, INR_IZR_INZ, mult_IZR, minus_IZR.
Qed.

(** * The claim *)

Theorem claim : epsilon $order run $delta <= $epsilon.
Proof.
  unfold epsilon, total_rdp, rdp, run; cbn [fold_right sampling_probability noise_multiplier steps].
  rewrite !moment_row, !INR_IZR_INZ.
  let row := eval vm_compute in (pascal_row $order) in
    replace (pascal_row $order) with row by (vm_compute; reflexivity).
  cbv -[Rle Rplus Rmult Rminus Rdiv Rinv IZR pow powerRZ exp ln].
  interval with (i_prec $bits).
Qed.
